import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// Searches the users file, piece by piece, for one user's line.
struct TokenSearch {
  private static let byteOrderMarks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]]

  private let key: [UInt8]
  private var isFirst = true
  /// The user's token in the pieces so far.
  private(set) var token: Secret?
  /// Whether the pieces so far have an error that makes the file invalid.
  private(set) var hasTrouble = false

  init(_ user: UnixUsername) { key = Self.key(of: user) }

  /// Reads the next lines; false if the search is over.
  mutating func look(at lines: UnsafeRawBufferPointer) -> Bool {
    hasTrouble = hasTrouble || isFirst && Self.beginsWithMark(lines)
    isFirst = false
    // A comment does not name a user, even if it begins with a name.
    guard key.first != UInt8(ascii: "#") else { return false }
    hasTrouble = hasTrouble || Self.damagedLine(for: key, in: lines) != nil
    var next = 0
    while !hasTrouble, let found = Self.line(beginning: key, in: lines, from: next) {
      next = found + 1
      let value = Self.value(in: lines, from: found + key.count)
      hasTrouble = token != nil || !UserTokens.isToken(value)
      token = Secret(bytes: value)
    }
    return !hasTrouble
  }

  static func key(of user: UnixUsername) -> [UInt8] { Array(user.text.utf8) + [UInt8(ascii: ":")] }

  /// The next position of these bytes, by memmem(3): which is fast enough for 100,000 users.
  static func position(of bytes: [UInt8], in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard start < text.count else { return nil }
    // SAFETY: `start` is inside the buffer, and the search ends at its end.
    return iampass_find(text.baseAddress! + start, text.count - start, bytes, bytes.count).map {
      UnsafeRawPointer($0) - text.baseAddress!
    }
  }

  /// The line around this position, without its end.
  static func lineRange(around place: Int, in text: UnsafeRawBufferPointer) -> Range<Int> {
    let start = text[..<place].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return start..<(position(of: UInt8(ascii: "\n"), in: text, from: place) ?? text.count)
  }

  /// The position of the next line that begins with `key`.
  static func line(beginning key: [UInt8], in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var start = start
    while let index = position(of: key, in: text, from: start) {
      // Elsewhere in a line the key is the end of another name or part of a token.
      if index == 0 || text[index - 1] == UInt8(ascii: "\n") { return index }
      start = index + 1
    }
    return nil
  }

  /// The rest of the line.
  static func value(in text: UnsafeRawBufferPointer, from start: Int) -> [UInt8] {
    Array(text[start..<(position(of: UInt8(ascii: "\n"), in: text, from: start) ?? text.count)])
  }

  /// The part of the line before this position.
  static func name(before end: Int, in text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let start = text[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return UnsafeRawBufferPointer(rebasing: text[start..<end])
  }

  /// The position of the first line that has a NUL or a carriage return and may be the line of the user in `key`.
  static func damagedLine(for key: [UInt8], in text: UnsafeRawBufferPointer) -> Int? {
    // Nearly all files have none of them.
    guard hasStray(text) else { return nil }
    var start = 0
    while start < text.count {
      let end = position(of: UInt8(ascii: "\n"), in: text, from: start) ?? text.count
      let line = UnsafeRawBufferPointer(rebasing: text[start..<end])
      if hasStray(line), mayName(key, line) { return start }
      start = end + 1
    }
    return nil
  }

  /// The characters are within the user's own line, or at the end of a line. If in doubt the line is the user's:
  /// otherwise the user would count as one without a token.
  private static func mayName(_ key: [UInt8], _ line: UnsafeRawBufferPointer) -> Bool {
    line.filter { !isStray($0) }.starts(with: key)
      || line.split(whereSeparator: isStray).contains { $0.starts(with: key) }
  }

  static func hasStray(_ text: UnsafeRawBufferPointer) -> Bool {
    position(of: 0, in: text, from: 0) != nil || position(of: UInt8(ascii: "\r"), in: text, from: 0) != nil
  }

  private static func isStray(_ byte: UInt8) -> Bool { byte == 0 || byte == UInt8(ascii: "\r") }

  /// Whether a text begins with a byte order mark: of UTF-8, or of UTF-16, whose lines cannot be read as UTF-8.
  static func beginsWithMark(_ text: UnsafeRawBufferPointer) -> Bool {
    byteOrderMarks.contains { text.starts(with: $0) }
  }

  private static func position(of byte: UInt8, in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard start < text.count else { return nil }
    // SAFETY: `start` is inside the buffer, and the search ends at its end.
    return memchr(text.baseAddress! + start, Int32(byte), text.count - start).map {
      UnsafeRawPointer($0) - text.baseAddress!
    }
  }
}
