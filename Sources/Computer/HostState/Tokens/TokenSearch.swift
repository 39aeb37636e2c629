import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// The search for one user's line in the users file, piece by piece.
struct TokenSearch {
  private static let byteOrderMarks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]]

  private let key: [UInt8]
  private var isFirst = true
  /// What the pieces so far have for the user.
  private(set) var token: Secret?
  /// Whether the pieces so far have something for which the file is refused.
  private(set) var hasTrouble = false

  init(_ user: UnixUsername) { key = Self.key(of: user) }

  /// Looks at the next lines; false if the caller need not show more.
  mutating func look(at lines: UnsafeRawBufferPointer) -> Bool {
    hasTrouble = hasTrouble || isFirst && Self.beginsWithMark(lines)
    isFirst = false
    // A comment names no user, whatever name it begins with.
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

  /// The next position of these bytes, by memmem(3): there may be 100,000 users.
  static func position(of bytes: [UInt8], in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard start < text.count else { return nil }
    // SAFETY: `start` is inside the buffer, and the search ends at its end.
    return iampass_find(text.baseAddress! + start, text.count - start, bytes, bytes.count).map {
      UnsafeRawPointer($0) - text.baseAddress!
    }
  }

  /// The line that has this place, without its end.
  static func lineRange(around place: Int, in text: UnsafeRawBufferPointer) -> Range<Int> {
    let start = text[..<place].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return start..<(position(of: UInt8(ascii: "\n"), in: text, from: place) ?? text.count)
  }

  /// The position of the next line that begins with `key`.
  static func line(beginning key: [UInt8], in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var start = start
    while let index = position(of: key, in: text, from: start) {
      // Elsewhere in a line the key is the end of another name, or part of a token.
      if index == 0 || text[index - 1] == UInt8(ascii: "\n") { return index }
      start = index + 1
    }
    return nil
  }

  /// The rest of the line.
  static func value(in text: UnsafeRawBufferPointer, from start: Int) -> [UInt8] {
    Array(text[start..<(position(of: UInt8(ascii: "\n"), in: text, from: start) ?? text.count)])
  }

  /// What stands in the line before this place.
  static func name(before end: Int, in text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let start = text[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return UnsafeRawBufferPointer(rebasing: text[start..<end])
  }

  /// The position of the first line that has a NUL or a carriage return and may be the line of the user in `key`.
  static func damagedLine(for key: [UInt8], in text: UnsafeRawBufferPointer) -> Int? {
    // Nearly every file is without them.
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

  /// The characters were put into the user's own line, or stand at the end of a line. In case of doubt the line is the
  /// user's: otherwise the user would count as one without a token.
  private static func mayName(_ key: [UInt8], _ line: UnsafeRawBufferPointer) -> Bool {
    line.filter { !isStray($0) }.starts(with: key)
      || line.split(whereSeparator: isStray).contains { $0.starts(with: key) }
  }

  static func hasStray(_ text: UnsafeRawBufferPointer) -> Bool {
    position(of: 0, in: text, from: 0) != nil || position(of: UInt8(ascii: "\r"), in: text, from: 0) != nil
  }

  private static func isStray(_ byte: UInt8) -> Bool { byte == 0 || byte == UInt8(ascii: "\r") }

  /// Whether a text begins with a byte order mark: of UTF-8, or of UTF-16, in which no line is what it seems.
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
