/// A name that can stand in a users file, a log line and a request: it cannot be a path, an option or a line.
public struct UnixUsername: Sendable, Hashable, CustomStringConvertible {
  /// The greatest length in bytes: LOGIN_NAME_MAX.
  public static let greatestLength = 256

  public let text: String
  public var description: String { text }

  /// Nil for an invalid name: empty, too long, beginning with `-`, or containing control characters, white space, `:`
  /// or `/`.
  public init?(validating text: String) {
    let bytes = Array(text.utf8)
    guard (1...Self.greatestLength).contains(bytes.count), bytes[0] != UInt8(ascii: "-"),
      bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") }),
      !text.unicodeScalars.contains("\u{FFFD}")
    else { return nil }
    self.text = text
  }

  /// Compares bytes, as Unix does. Swift treats two spellings of one accented letter as the same text.
  public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}
