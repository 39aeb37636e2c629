/// The body of `authenticate_user`.
public struct StartRequest: Sendable, Equatable {
  public var context: SignInContext?
  /// An identifier of the computer's current boot, 1–64 bytes. The service ends sessions that the same host credential
  /// opened before that boot.
  public var bootID: String?

  private static let bootIDLengths = 1...64

  public init(context: SignInContext?, bootID: String? = nil) {
    self.context = context
    self.bootID = bootID
  }

  public func encoded() -> [UInt8] {
    JSON.object(["context": context?.json, "boot_id": bootID.map { .string($0) }]).encoded()
  }

  /// Reads an empty body as an empty request.
  public init(parsing body: [UInt8]) throws(MessageError) {
    if body.isEmpty {
      self.init(context: nil)
      return
    }
    let json = try JSON.reading(body)
    guard case .object = json else { throw .member("body") }
    let bootID = try Self.bootID(in: json)
    guard let value = json["context"] else {
      self.init(context: nil, bootID: bootID)
      return
    }
    let context = try SignInContext(value)
    // A trailing space in a name is invisible. Only new requests are refused for it: stored contexts stay readable.
    guard !context.further.contains(where: { $0.name.hasSuffix(" ") }) else { throw .member("context") }
    self.init(context: context, bootID: bootID)
  }

  private static func bootID(in json: JSON) throws(MessageError) -> String? {
    switch json["boot_id"] {
    case nil, .null: return nil
    case .string(let text) where bootIDLengths.contains(text.utf8.count): return text
    default: throw .member("boot_id")
    }
  }
}
