import CHost
import Glibc

/// A name that can stand in a users file, a log line and a request: nothing in it is a path, an option or a line.
public struct UnixUsername: Sendable, Hashable, CustomStringConvertible {
  /// LOGIN_NAME_MAX, in bytes.
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

  /// By bytes, as Unix does: to Swift, two spellings of one accented letter are the same text.
  public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

/// What the system knows of a user (getpwnam(3)).
public struct SystemUser: Sendable, Equatable {
  /// As the system spells it.
  public let name: UnixUsername
  public let uid: UInt32

  public init(name: UnixUsername, uid: UInt32) {
    self.name = name
    self.uid = uid
  }

  /// Nil where the system knows no user of this number (getpwuid(3)).
  public init?(uid: UInt32) {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 65_536)
    guard getpwuid_r(uid, &entry, &buffer, buffer.count, &found) == 0, found != nil, let spelled = entry.pw_name,
      let name = UnixUsername(validating: String(cString: spelled))
    else { return nil }
    self.init(name: name, uid: uid)
  }

  /// Nil where the system does not know the name.
  public init?(named name: UnixUsername) {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var size = 4_096
    while true {
      var buffer = [CChar](repeating: 0, count: size)
      let outcome = getpwnam_r(name.text, &entry, &buffer, size, &found)
      if outcome == ERANGE, size < 1_048_576 {
        size *= 4
        continue
      }
      guard outcome == 0, found != nil, let spelled = entry.pw_name,
        let canonical = UnixUsername(validating: String(cString: spelled))
      else { return nil }
      self.name = canonical
      uid = entry.pw_uid
      return
    }
  }
}
