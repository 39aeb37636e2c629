/// The body of `authenticate_user`.
public struct StartRequest: Sendable, Equatable {
  public var context: SignInContext?
  /// An identifier of the computer's current boot, 1–64 bytes. The service ends sessions that the same host credential
  /// opened before that boot.
  public var bootID: String?
  /// The challenge that the phone signs together with the context. The service must then not change the context.
  public var challenge: ApprovalChallenge?
  /// Two digits that the computer drew and shows; only with ``challenge``, and not if the context is
  /// ``SignInContext/isWithoutCode``. Nil: the service may draw them.
  public var matchCode: Secret?
  /// The computer's own name for this start; nil: the start is never sent again.
  public var start: StartName?

  private static let bootIDLengths = 1...64

  public init(
    context: SignInContext?, bootID: String? = nil, challenge: ApprovalChallenge? = nil, matchCode: Secret? = nil,
    start: StartName? = nil
  ) {
    self.context = context
    self.bootID = bootID
    self.challenge = challenge
    self.matchCode = matchCode
    self.start = start
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "context": context?.json, "boot_id": bootID.map { .string($0) },
      ApprovalChallenge.name: challenge.map { .string($0.text) },
      "match_code": matchCode.map { .string($0.exposedValue) },
      StartName.name: start.map { .string($0.text) },
    ]).encoded()
  }

  /// Reads an empty body as an empty request.
  public init(parsing body: [UInt8]) throws(MessageError) {
    if body.isEmpty {
      self.init(context: nil)
      return
    }
    let json = try JSON.reading(body)
    guard case .object = json else { throw .member("body") }
    self.init(
      context: try Self.context(in: json), bootID: try Self.bootID(in: json),
      challenge: try ApprovalChallenge.member(of: json), matchCode: try Self.matchCode(in: json),
      start: try StartName(in: json))
    guard matchCode == nil || context?.isWithoutCode != true else { throw .member("match_code") }
    guard challenge != nil else {
      // The service would draw other digits than the computer shows.
      guard matchCode == nil else { throw .member("match_code") }
      return
    }
    // The computer compares the digest of what it sent with what the phone signs.
    guard let context, context.json.canonicallyEncoded() == json["context"]?.canonicallyEncoded() else {
      throw .member("context")
    }
  }

  private static func context(in json: JSON) throws(MessageError) -> SignInContext? {
    guard let value = json["context"] else { return nil }
    let context = try SignInContext(value)
    // A trailing space in a name is invisible, and only one value says that there are no digits. Only new requests are
    // refused for these: stored contexts stay readable.
    guard !context.further.contains(where: { $0.name.hasSuffix(" ") || $0.name == SignInContext.withoutCode.name })
    else { throw .member("context") }
    return context
  }

  private static func bootID(in json: JSON) throws(MessageError) -> String? {
    switch json["boot_id"] {
    case nil, .null: return nil
    case .string(let text) where bootIDLengths.contains(text.utf8.count): return text
    default: throw .member("boot_id")
    }
  }

  private static func matchCode(in json: JSON) throws(MessageError) -> Secret? {
    switch json["match_code"] {
    case nil, .null: return nil
    case .string(let digits) where digits.utf8.count == 2 && digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }):
      return Secret(digits)
    default: throw .member("match_code")
    }
  }
}
