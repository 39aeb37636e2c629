/// A computer's own name for one start of a sign-in (an extension of `iampass-server`).
///
/// A computer that lost the connection does not know whether its start was taken. With the same name it may send the start
/// again: if the first one was taken, the service replies with that session, and no phone is rung for another one.
public struct StartName: Sendable, Equatable {
  /// The member's name in requests.
  static let name = "start"

  /// 32 hexadecimal digits.
  public let text: String

  /// Nil unless these are 32 hexadecimal digits in lower case.
  public init?(_ text: String) {
    guard text.utf8.count == 32,
      text.utf8.allSatisfy({
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      })
    else { return nil }
    self.text = text
  }

  /// A new name; nil if the kernel gives no random bytes.
  public static func draw() -> StartName? { Digest.randomIdentifier().flatMap(StartName.init) }

  /// Nil if the request has none.
  init?(in json: JSON) throws(MessageError) {
    switch json[Self.name] {
    case nil, .null: return nil
    case .string(let text):
      guard let name = StartName(text) else { throw .member(Self.name) }
      self = name
    default: throw .member(Self.name)
    }
  }

  /// The session's id, which nobody else can take.
  ///
  /// - Parameter starter: the id of the credential that signs.
  public func session(of starter: String) -> String {
    String(Digest.hexadecimal(Digest.sha256(Array("iampass-start/1 \(starter) \(text)".utf8))).prefix(32))
  }
}
