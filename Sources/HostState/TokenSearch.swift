import CHost
import Glibc
import IAMPASSProtocol

/// The search for one user's line in the users file, piece by piece.
struct TokenSearch {
  static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private let key: [UInt8]
  private var isFirst = true
  /// What the pieces so far have for the user.
  private(set) var token: Secret?
  /// Whether something was seen for which the file is refused.
  private(set) var hasTrouble = false

  init(_ user: UnixUsername) { key = Self.key(of: user) }

  /// Looks at the next lines; false where no more need be shown.
  mutating func look(at lines: UnsafeRawBufferPointer) -> Bool {
    hasTrouble = hasTrouble || isFirst && lines.starts(with: Self.byteOrderMark) || Self.nonText(in: lines) != nil
    isFirst = false
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

  /// Where the next line that begins with `key` begins, by memmem(3): there may be 100,000 users.
  static func line(beginning key: [UInt8], in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var start = start
    while start < text.count {
      // SAFETY: `start` is inside the buffer, and the search ends at its end.
      guard let found = iampass_find(text.baseAddress! + start, text.count - start, key, key.count) else { return nil }
      let index = UnsafeRawPointer(found) - text.baseAddress!
      // Not at a line's beginning it is the end of another's name, or part of a token.
      if index == 0 || text[index - 1] == UInt8(ascii: "\n") { return index }
      start = index + 1
    }
    return nil
  }

  /// The rest of the line.
  static func value(in text: UnsafeRawBufferPointer, from start: Int) -> [UInt8] {
    Array(text[start..<(position(of: UInt8(ascii: "\n"), in: text, from: start) ?? text.count)])
  }

  /// Where the first NUL or carriage return is.
  static func nonText(in text: UnsafeRawBufferPointer) -> Int? {
    [0, UInt8(ascii: "\r")].compactMap { position(of: $0, in: text, from: 0) }.min()
  }

  private static func position(of byte: UInt8, in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard start < text.count else { return nil }
    // SAFETY: `start` is inside the buffer, and the search ends at its end.
    return memchr(text.baseAddress! + start, Int32(byte), text.count - start).map {
      UnsafeRawPointer($0) - text.baseAddress!
    }
  }
}
