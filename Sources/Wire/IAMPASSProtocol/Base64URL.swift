/// Strict base64url (RFC 4648 §5) without padding, as in WebAuthn.
public enum Base64URL {
  public static func encode(_ bytes: [UInt8]) -> String {
    String(Base64.encode(bytes).compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
  }

  /// The bytes; nil if `text` does not encode any.
  public static func decode(_ text: String) -> [UInt8]? {
    guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return Base64.decode(standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
  }
}
