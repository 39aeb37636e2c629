import IAMPASSProtocol

/// Why a text is refused as a registration link.
public enum RegistrationLinkError: Error, Equatable, Sendable {
  /// The text without its fragment, which may hold a secret. It comes from outside: sanitize it before showing it.
  case notALink(String)
  /// The fragment is not ``PhoneKeys/pinFragment`` and a secret: the link was not copied whole.
  case linkWithoutItsSecret

  fileprivate static func notALink(of text: String) -> RegistrationLinkError {
    .notALink(String(text.prefix { $0 != "#" }))
  }
}

/// The parts of `https://…/register/CODE`, and of `#pin=SECRET` behind it.
public struct RegistrationLink: Sendable {
  public let server: ServerURL
  /// 32 hexadecimal digits, with which anyone can register a phone.
  public let code: Secret
  /// The fragment's secret. It is never sent; nil without a fragment.
  private let pinSecret: Secret?

  /// The proof by which the link's computer checks the keys; nil if the link has no secret.
  func pin(of keys: PhoneKeys) -> String? {
    pinSecret.map { keys.pinMAC(secret: $0, origin: server.origin, link: code) }
  }

  /// - Throws: if the text is not such a link, or if its fragment is not ``PhoneKeys/pinFragment`` and a secret.
  public init(_ text: String) throws(RegistrationLinkError) {
    let marker = "/register/"
    let bytes = Array(text.utf8)
    let pattern = Array(marker.utf8)
    guard bytes.count > pattern.count,
      let start = (0...(bytes.count - pattern.count)).last(where: { bytes[$0...].starts(with: pattern) })
    else { throw .notALink(of: text) }
    let parts = bytes[(start + pattern.count)...].split(
      separator: UInt8(ascii: "#"), maxSplits: 1, omittingEmptySubsequences: false)
    let code = parts[0]
    guard code.count == 32, code.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
      let server = try? ServerURL(String(decoding: bytes[..<start], as: UTF8.self))
    else { throw .notALink(of: text) }
    self.server = server
    self.code = Secret(bytes: Array(code))
    guard parts.count > 1 else {
      pinSecret = nil
      return
    }
    // Without its pin the phone would register, but no computer would trust it.
    guard let secret = Self.secret(inFragment: String(decoding: parts[1], as: UTF8.self)) else {
      throw .linkWithoutItsSecret
    }
    pinSecret = secret
  }

  private static func secret(inFragment fragment: String) -> Secret? {
    guard fragment.hasPrefix(PhoneKeys.pinFragment),
      let bytes = Base64URL.decode(String(fragment.dropFirst(PhoneKeys.pinFragment.count))),
      bytes.count == PhoneKeys.pinSecretSize
    else { return nil }
    return Secret(bytes: bytes)
  }
}
