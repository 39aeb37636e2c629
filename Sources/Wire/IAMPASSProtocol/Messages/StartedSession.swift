/// What a client needs to follow and end a started session. The addresses are as received: nobody has compared their
/// origin yet.
public struct StartedSession: Sendable, Equatable {
  public let status: SessionStatus
  public let statusURL: String
  public let logoutURL: String
  public let token: Secret
  public let secret: Secret
  /// Two digits that the terminal shows and the phone asks for.
  public let matchCode: String?
  /// The page on which the user finds the request if the phone does not ring.
  public let phonePage: String?
  /// The session's name in every later reply, 1–128 bytes; nil if the service does not name sessions.
  ///
  /// A reply's signature covers the request's nonce, and every owner of a session chooses their own nonces. Without a
  /// signed name an attacker could forward the reply about their session as the reply about another session.
  public let name: String?
  /// The challenge of the start, which the service repeats; nil from a service that does not know challenges.
  public let challenge: ApprovalChallenge?

  private static let nameLengths = 1...128
  /// The lengths of a name for a log line, in bytes.
  private static let labelLengths = 1...64

  /// The name, if it is fit for a log line as it is; otherwise nil.
  public static func label(_ name: String?) -> String? {
    guard let name, labelLengths.contains(name.utf8.count) else { return nil }
    return name.utf8.allSatisfy(isOfLabel) ? name : nil
  }

  private static func isOfLabel(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  public init(
    status: SessionStatus, statusURL: String, logoutURL: String, token: Secret, secret: Secret, matchCode: String?,
    phonePage: String? = nil, name: String? = nil, challenge: ApprovalChallenge? = nil
  ) {
    self.status = status
    self.statusURL = statusURL
    self.logoutURL = logoutURL
    self.token = token
    self.secret = secret
    self.matchCode = matchCode
    self.phonePage = phonePage
    self.name = name
    self.challenge = challenge
  }

  init(_ reply: JSON) throws(MessageError) {
    func text(_ name: String) throws(MessageError) -> String {
      guard let value = reply[name]?.string, !value.isEmpty else { throw .member(name) }
      return value
    }
    status = SessionStatus(word: try text("session_status"))
    statusURL = try text("status_url")
    logoutURL = try text("logout_url")
    token = Secret(try text("session_token"))
    secret = Secret(try text("session_secret"))
    switch reply["match_code"] {
    case nil, .null: matchCode = nil
    case .string(let digits) where digits.utf8.count == 2 && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }:
      matchCode = digits
    default: throw .member("match_code")
    }
    // This is only a hint. A malformed value does not stop the sign-in.
    phonePage = reply["phone_page"]?.string
    name = reply["session_name"]?.string.flatMap { Self.nameLengths.contains($0.utf8.count) ? $0 : nil }
    challenge = try ApprovalChallenge.member(of: reply)
  }

  var json: JSON {
    .object([
      "authenticated": .bool(true), "session_status": .string(status.word), "reason": .null,
      "status_url": .string(statusURL), "logout_url": .string(logoutURL),
      "session_token": .string(token.exposedValue), "session_secret": .string(secret.exposedValue),
      "match_code": matchCode.map { .string($0) }, "phone_page": phonePage.map { .string($0) },
      "session_name": name.map { .string($0) }, ApprovalChallenge.name: challenge.map { .string($0.text) },
    ])
  }
}
