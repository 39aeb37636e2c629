/// Checks a text against the rules of RFC 8259 that json-c ignores even when strict. Also counts the members, and
/// rewrites the characters that json-c would misread.
struct JSONOutline {
  /// The number of members, if the text is JSON.
  private(set) var memberCount = 0
  private let text: [UInt8]
  private var index = 0
  private var pairs: [(place: Range<Int>, character: String)] = []

  /// The text with each surrogate pair replaced by its character. json-c looks for surrogates again in the last sixteen
  /// bits of a pair's value. It therefore turns U+1D800 and similar characters into U+FFFD.
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
    // json-c accepts overlong forms and surrogates as UTF-8.
    guard String(validating: text, as: UTF8.self) != nil else { throw .notJSON }
    self.text = text
    while let byte = next {
      switch byte {
      case 0: throw .nulInString
      case UInt8(ascii: "\""): try passString()
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try passNumber()
      // json-c accepts 'text' as a string.
      case UInt8(ascii: "'"): throw .notJSON
      case UInt8(ascii: ":"):
        memberCount += 1
        index += 1
      default: index += 1
      }
    }
  }

  private var next: UInt8? { index < text.count ? text[index] : nil }

  /// json-c accepts raw control characters.
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
      // json-c checks all other escapes itself.
      index += 1
      return
    }
    index += 5
    // json-c ends a member's name at an escaped NUL. It would read "status\u0000x" as "status".
    guard unit != 0 else { throw .nulInString }
    // json-c turns half a surrogate pair into U+FFFD.
    if UTF16.isTrailSurrogate(unit) { throw .notJSON }
    guard UTF16.isLeadSurrogate(unit) else { return }
    guard text[index...].starts(with: Array("\\u".utf8)), let second = codeUnit(at: index + 2),
      UTF16.isTrailSurrogate(second)
    else { throw .notJSON }
    index += 6
    pairs.append((start..<index, String(decoding: [unit, second], as: UTF16.self)))
  }

  /// The value of four hexadecimal digits; nil if one of them is another character.
  private func codeUnit(at place: Int) -> UInt16? {
    guard place + 4 <= text.count else { return nil }
    let digits = text[place..<place + 4]
    // The conversion below would accept a sign.
    guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  /// json-c accepts `1.`, `-01` and `-.5`, and replaces a great integer by the nearest that fits.
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

  /// The number of digits passed.
  private mutating func passDigits() -> Int {
    let start = index
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
    return index - start
  }
}
