/// What can be told of a text without understanding it: rules of RFC 8259 that json-c passes over even when strict, how
/// many members there are, and the characters that json-c would not read.
struct JSONOutline {
  /// How many members the text has if it is JSON.
  private(set) var memberCount = 0
  private let text: [UInt8]
  private var index = 0
  private var pairs: [(place: Range<Int>, character: String)] = []

  /// The text with the character itself in each surrogate pair's place: json-c looks for surrogates once more in the
  /// last sixteen bits of what a pair says, and makes U+FFFD of U+1D800 and of what else ends like one.
  var textWithoutPairs: [UInt8] {
    if pairs.isEmpty { return text }
    var plain: [UInt8] = []
    var end = 0
    for (place, character) in pairs {
      plain += text[end..<place.lowerBound] + Array(character.utf8)
      end = place.upperBound
    }
    return plain + text[end...]
  }

  init(of text: [UInt8]) throws(JSONError) {
    // json-c takes overlong forms and surrogates for UTF-8.
    guard String(validating: text, as: UTF8.self) != nil else { throw .notJSON }
    self.text = text
    while let byte = next {
      switch byte {
      case 0: throw .nulInString
      case UInt8(ascii: "\""): try passString()
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try passNumber()
      // json-c takes 'text' for a string.
      case UInt8(ascii: "'"): throw .notJSON
      case UInt8(ascii: ":"):
        memberCount += 1
        index += 1
      default: index += 1
      }
    }
  }

  private var next: UInt8? { index < text.count ? text[index] : nil }

  /// json-c takes control characters as they are.
  private mutating func passString() throws(JSONError) {
    index += 1
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return
      case UInt8(ascii: "\\"): try passEscape()
      case 0: throw .nulInString
      case 0x01..<0x20: throw .notJSON
      default: break
      }
    }
  }

  private mutating func passEscape() throws(JSONError) {
    let start = index - 1
    guard next == UInt8(ascii: "u"), let unit = codeUnit(at: index + 1) else {
      // Whatever it is, json-c knows these.
      index += 1
      return
    }
    index += 5
    // json-c ends a member's name at an escaped NUL, so that "status\u0000x" would be read as "status".
    guard unit != 0 else { throw .nulInString }
    // It makes U+FFFD of half a surrogate pair, as of any other half.
    if UTF16.isTrailSurrogate(unit) { throw .notJSON }
    guard UTF16.isLeadSurrogate(unit) else { return }
    guard text[index...].starts(with: Array("\\u".utf8)), let second = codeUnit(at: index + 2),
      UTF16.isTrailSurrogate(second)
    else { throw .notJSON }
    index += 6
    pairs.append((start..<index, String(decoding: [unit, second], as: UTF16.self)))
  }

  /// The four hexadecimal digits at a place; nil where they are none.
  private func codeUnit(at place: Int) -> UInt16? {
    guard place + 4 <= text.count else { return nil }
    let digits = text[place..<place + 4]
    // A sign would be taken, too.
    guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  /// json-c takes `1.`, `-01` and `-.5`, and for a great integer the nearest that it has room for.
  private mutating func passNumber() throws(JSONError) {
    let start = index
    pass("-")
    let zero = next == UInt8(ascii: "0")
    let count = passDigits()
    guard count == 1 || count > 1 && !zero else { throw .notJSON }
    var isInteger = true
    if pass(".") {
      isInteger = false
      guard passDigits() > 0 else { throw .notJSON }
    }
    if pass("e") || pass("E") {
      isInteger = false
      if !pass("+") { pass("-") }
      guard passDigits() > 0 else { throw .notJSON }
    }
    guard !isInteger || Int64(String(decoding: text[start..<index], as: UTF8.self)) != nil else {
      throw .numberOutOfRange
    }
  }

  @discardableResult
  private mutating func pass(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  /// How many there were.
  private mutating func passDigits() -> Int {
    let start = index
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
    return index - start
  }
}
