/// The query item with the body's digest (an extension that services may ignore).
///
/// A request's signature covers its query but not its body. Without the digest an intermediary could change what the
/// phone shows, which users are added, or the phone number that receives a link.
public enum BodyDigest {
  public static let name = "body_sha256"

  /// SHA-256 of a body as sent, in lower-case hexadecimal.
  public static func value(of body: [UInt8]) -> String { Digest.hexadecimal(Digest.sha256(body)) }

  public static func item(for body: [UInt8]) -> (String, String) { (name, value(of: body)) }
}
