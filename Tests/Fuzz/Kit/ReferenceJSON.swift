/// A second reader of JSON (RFC 8259), written for being obviously right and nothing else: what the product's reader
/// says is held against it.
///
/// Stricter than the RFC if two readers could differ: it refuses a repeated member, a NUL, and half a surrogate pair.
public indirect enum ReferenceJSON: Equatable {
  case null
  case bool(Bool)
  /// As written.
  case number(String)
  case string([UInt8])
  case array([ReferenceJSON])
  case object([Member])

  public struct Member: Equatable {
    public let name: [UInt8]
    public let value: ReferenceJSON
  }

  public struct Refusal: Error {}

  public init?(_ text: [UInt8]) {
    guard String(validating: text, as: UTF8.self) != nil else { return nil }
    var reader = Reader(text: text)
    guard let value = try? reader.wholeValue() else { return nil }
    self = value
  }

  public subscript(name: String) -> ReferenceJSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == Array(name.utf8) }?.value
  }

  public var string: String? { if case .string(let bytes) = self { bytes.text } else { nil } }
  /// `-0` is 0.
  public var integer: Int64? { if case .number(let text) = self { Int64(text) } else { nil } }
  public var isObject: Bool { if case .object = self { true } else { false } }

  /// How deep arrays and objects stand in each other; 0 for a value that is neither.
  public var depth: Int {
    switch self {
    case .array(let items): 1 + (items.map(\.depth).max() ?? 0)
    case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
    case .null, .bool, .number, .string: 0
    }
  }

  /// Whether a value of this kind is anywhere in it.
  public func contains(_ matches: (ReferenceJSON) -> Bool) -> Bool {
    if matches(self) { return true }
    switch self {
    case .array(let items): return items.contains { $0.contains(matches) }
    case .object(let members): return members.contains { $0.value.contains(matches) }
    case .null, .bool, .number, .string: return false
    }
  }
}

private struct Reader {
  let text: [UInt8]
  var index = 0

  private var next: UInt8? { index < text.count ? text[index] : nil }

  private mutating func take(_ byte: Character) throws {
    guard next == byte.asciiValue else { throw ReferenceJSON.Refusal() }
    index += 1
  }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  mutating func wholeValue() throws -> ReferenceJSON {
    let value = try self.value(depth: 0)
    guard index == text.count else { throw ReferenceJSON.Refusal() }
    return value
  }

  private mutating func value(depth: Int) throws -> ReferenceJSON {
    // Deeper than any reader here goes, shallower than the stack.
    guard depth < 200 else { throw ReferenceJSON.Refusal() }
    skipSpace()
    defer { skipSpace() }
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func word(_ word: String, _ value: ReferenceJSON) throws -> ReferenceJSON {
    for letter in word { try take(letter) }
    return value
  }

  private mutating func object(depth: Int) throws -> ReferenceJSON {
    var members: [ReferenceJSON.Member] = []
    try take("{")
    skipSpace()
    if next == UInt8(ascii: "}") {
      index += 1
      return .object([])
    }
    while true {
      skipSpace()
      let name = try string()
      guard !members.contains(where: { $0.name == name }) else { throw ReferenceJSON.Refusal() }
      skipSpace()
      try take(":")
      members.append(.init(name: name, value: try value(depth: depth + 1)))
      if next == UInt8(ascii: ",") {
        index += 1
        continue
      }
      try take("}")
      return .object(members)
    }
  }

  private mutating func array(depth: Int) throws -> ReferenceJSON {
    var items: [ReferenceJSON] = []
    try take("[")
    skipSpace()
    if next == UInt8(ascii: "]") {
      index += 1
      return .array([])
    }
    while true {
      items.append(try value(depth: depth + 1))
      if next == UInt8(ascii: ",") {
        index += 1
        continue
      }
      try take("]")
      return .array(items)
    }
  }

  private mutating func number() throws -> String {
    let start = index
    if next == UInt8(ascii: "-") { index += 1 }
    if next == UInt8(ascii: "0") { index += 1 } else { try digits() }
    if next == UInt8(ascii: ".") {
      index += 1
      try digits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      index += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
      try digits()
    }
    return text[start..<index].text
  }

  private mutating func digits() throws {
    let start = index
    while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
    guard index > start else { throw ReferenceJSON.Refusal() }
  }

  private mutating func string() throws -> [UInt8] {
    var bytes: [UInt8] = []
    try take("\"")
    while let byte = next {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return bytes
      case UInt8(ascii: "\\"): bytes += try escaped()
      case 0x00..<0x20: throw ReferenceJSON.Refusal()
      default: bytes.append(byte)
      }
    }
    throw ReferenceJSON.Refusal()
  }

  private mutating func escaped() throws -> [UInt8] {
    guard let letter = next else { throw ReferenceJSON.Refusal() }
    index += 1
    let plain: [Character: UInt8] = [
      "\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 0x08, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09,
    ]
    if let byte = plain[Character(Unicode.Scalar(letter))] { return [byte] }
    guard letter == UInt8(ascii: "u") else { throw ReferenceJSON.Refusal() }
    var code = try fourDigits()
    if (0xD800..<0xDC00).contains(code) {
      try take("\\")
      try take("u")
      let low = try fourDigits()
      guard (0xDC00..<0xE000).contains(low) else { throw ReferenceJSON.Refusal() }
      code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
    }
    guard code != 0, let scalar = Unicode.Scalar(code) else { throw ReferenceJSON.Refusal() }
    return Array(String(Character(scalar)).utf8)
  }

  private mutating func fourDigits() throws -> UInt32 {
    guard index + 4 <= text.count, text[index..<index + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let code = UInt32(text[index..<index + 4].text, radix: 16)
    else { throw ReferenceJSON.Refusal() }
    index += 4
    return code
  }
}
