import Glibc

/// The service's name for computers and phones: a DNS name or a numeric address.
struct PublicName: Sendable, Equatable {
  /// The greatest length of a name in bytes (RFC 1035 §2.3.4).
  private static let greatestLength = 253
  private static let greatestPart = 63

  /// The name in lower case, without brackets.
  let text: String
  /// Whether it is a numeric address. Phones cannot use their screen lock on pages at an address.
  let isAddress: Bool

  /// - Returns: nil if the text is neither a name nor an address. Names outside ASCII must have their `xn--` form.
  init?(_ text: String) {
    let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    let lower = bare.lowercased()
    if Self.isAddress(bare) {
      self.text = lower
      isAddress = true
    } else if Self.isName(lower), bare == text {
      self.text = lower
      isAddress = false
    } else {
      return nil
    }
  }

  /// The name in a URL.
  var urlHost: String { text.contains(":") ? "[\(text)]" : text }

  private static func isAddress(_ text: String) -> Bool {
    var place = in6_addr()
    return inet_pton(AF_INET, text, &place) == 1 || inet_pton(AF_INET6, text, &place) == 1
  }

  private static func isName(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= greatestLength, let last = parts.last else { return false }
    // A name with a number at its end would be read as an incomplete address.
    return parts.allSatisfy(isPart) && !last.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  private static func isPart(_ part: Substring) -> Bool {
    let isPlain = part.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
    }
    return isPlain && (1...greatestPart).contains(part.utf8.count) && !part.hasPrefix("-") && !part.hasSuffix("-")
  }
}
