import IAMPASSProtocol

/// The contact for a push service's operators: the `sub` of a ``PushToken`` (RFC 8292 §2.1).
public struct PushContact: Sendable, Equatable {
  /// The greatest length of a mail address in bytes (RFC 5321 §4.5.3.1.3).
  private static let greatestLength = 254
  private static let scheme = "mailto:"
  /// Endings of names that the internet does not have (RFC 2606, 6761, 6762, 8375, 9476; `internal` is ICANN's).
  private static let privateEndings: Set<String> = [
    "alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain",
    "localhost", "onion", "private", "test",
  ]

  /// The contact: `mailto:` with an address, or `https://` with a name.
  public let text: String

  /// Nil unless it is `mailto:NAME@DOMAIN` in plain ASCII, or an `https://` address with a DNS name.
  public init?(_ text: String) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x27 && $0 != 0x5C }) else { return nil }
    if text.hasPrefix(Self.scheme) {
      let parts = text.dropFirst(Self.scheme.count).split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= Self.greatestLength,
        !parts[1].hasPrefix("."), parts[1].utf8.allSatisfy(Self.isNamePart)
      else { return nil }
      self.text = text
    } else {
      guard let url = try? ServerURL(text), url.isEncrypted, url.hostName != nil else { return nil }
      self.text = url.origin
    }
  }

  /// Whether Apple's push service accepts a contact at this name. It refuses private names with 403 BadJwtToken, and
  /// then the page does not ring iPhones.
  ///
  /// - Parameter host: nil: a numeric address.
  public static func isPublic(host: String?) -> Bool {
    guard let labels = host?.lowercased().split(separator: "."), labels.count > 1, let last = labels.last else {
      return false
    }
    return !privateEndings.contains(String(last))
  }

  /// The name in the address.
  public var host: String? {
    text.hasPrefix(Self.scheme) ? text.split(separator: "@").last.map(String.init) : (try? ServerURL(text))?.hostName
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
      || byte == 0x2E
  }
}
