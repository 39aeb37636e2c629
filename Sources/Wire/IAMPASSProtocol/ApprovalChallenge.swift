/// The 32 random bytes by which a computer recognizes the approval of its own request.
///
/// The phone signs the challenge together with what it showed. An approval with the challenge cannot be older than the
/// request, and cannot belong to another one.
public struct ApprovalChallenge: Sendable, Equatable {
  /// The member's name in requests, replies and statements.
  public static let name = "challenge"
  /// The size in bytes.
  public static let size = 32

  public let bytes: [UInt8]

  /// Nil unless there are ``size`` bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = bytes
  }

  /// A new challenge from the kernel's generator; nil if the kernel fails.
  public static func draw() -> ApprovalChallenge? { Digest.randomBytes(size).flatMap(ApprovalChallenge.init) }

  /// Reads ``text``; nil for any other spelling.
  public init?(text: String) {
    guard let bytes = Base64.decode(text) else { return nil }
    self.init(bytes)
  }

  /// Standard base64.
  public var text: String { Base64.encode(bytes) }

  /// The member ``name`` of `json`; nil if it is missing or null. Throws if it is malformed.
  public static func member(of json: JSON) throws(MessageError) -> ApprovalChallenge? {
    switch json[name] {
    case nil, .null: return nil
    case .string(let text):
      guard let challenge = ApprovalChallenge(text: text) else { throw .member(name) }
      return challenge
    default: throw .member(name)
    }
  }
}
