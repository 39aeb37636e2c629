import CJSON

/// A JSON value (RFC 8259), read strictly by json-c and written compactly.
///
/// Reading refuses what two readers could understand differently. That is a repeated member, a NUL in a string, invalid
/// UTF-8, half a surrogate pair, text after the value, a malformed number, or a number out of range.
public enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSON])
  /// Members in the order of the text. Names do not repeat.
  case object([Member])

  public struct Member: Sendable, Equatable {
    public let name: String
    public let value: JSON

    public init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  /// Deeper nesting is refused. The service's messages need less than a quarter of it.
  public static let greatestDepth: Int32 = 16

  /// An object of the members that are not nil, for messages with optional parts.
  public static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
}

/// Why a text is refused as JSON.
public enum JSONError: Error, Equatable, Sendable {
  case notJSON
  case memberNamedTwice
  case nulInString
  case numberOutOfRange
}

extension JSON {
  /// Reads a whole text. The caller bounds its size.
  public init(parsing text: [UInt8]) throws(JSONError) {
    let outline = try JSONOutline(of: text)
    let text = outline.textWithoutPairs
    guard !text.isEmpty, text.count < Int(Int32.max),
      let reader = iampass_json_reader(JSON.greatestDepth, Int32(text.count))
    else { throw .notJSON }
    // json-c would leave its copies in the heap, and they may be secrets.
    defer { iampass_json_reader_free(reader) }
    json_tokener_set_flags(reader, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8)
    // A reader knows that a final number is complete only when another byte follows it. The NUL is that byte.
    let terminated = text + [0]
    // SAFETY: the array outlives the call, and json-c copies what it keeps.
    let parsed = terminated.withUnsafeBytes {
      json_tokener_parse_ex(reader, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(terminated.count))
    }
    defer { if let parsed { iampass_json_free(parsed) } }
    guard json_tokener_get_error(reader) == json_tokener_success,
      json_tokener_get_parse_end(reader) >= text.count
    else { throw .notJSON }
    self = try JSON.value(parsed)
    // json-c silently keeps the last of two members with one name.
    guard memberCount == outline.memberCount else { throw .memberNamedTwice }
  }

  private var memberCount: Int {
    switch self {
    case .object(let members): members.reduce(members.count) { $0 + $1.value.memberCount }
    case .array(let items): items.reduce(0) { $0 + $1.memberCount }
    case .null, .bool, .integer, .number, .string: 0
    }
  }

  private static func value(_ object: OpaquePointer?) throws(JSONError) -> JSON {
    guard let object else { return .null }
    switch json_object_get_type(object) {
    case json_type_boolean: return .bool(json_object_get_boolean(object) != 0)
    case json_type_int: return .integer(json_object_get_int64(object))
    case json_type_double:
      let number = json_object_get_double(object)
      guard number.isFinite else { throw .numberOutOfRange }
      return .number(number)
    case json_type_string: return .string(string(object))
    case json_type_array:
      var items: [JSON] = []
      for index in 0..<json_object_array_length(object) {
        items.append(try value(json_object_array_get_idx(object, index)))
      }
      return .array(items)
    case json_type_object:
      var members: [Member] = []
      var entry = iampass_json_first(object)
      while let current = entry {
        members.append(Member(String(cString: iampass_json_key(current)), try value(iampass_json_value(current))))
        entry = iampass_json_next(current)
      }
      return .object(members)
    case json_type_null: return .null
    default: throw .notJSON
    }
  }

  private static func string(_ object: OpaquePointer) -> String {
    let count = Int(json_object_get_string_len(object))
    guard count > 0, let start = json_object_get_string(object) else { return "" }
    // SAFETY: json-c keeps `count` bytes at `start` while the object lives, and the caller holds the object.
    return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }
}

extension JSON {
  /// The value as compact text.
  ///
  /// This does not use json-c, which frees its buffers without clearing them. Records and requests contain secrets.
  public func encoded() -> [UInt8] {
    var text: [UInt8] = []
    write(to: &text)
    return text
  }

  /// As ``encoded()``, for a terminal or a file that people read. Characters that are invisible or move their
  /// neighbours are escaped. Every reader of JSON undoes the escapes (RFC 8259 §7).
  public func printed() -> String {
    var text = ""
    // Such characters occur in strings only. All other text is ASCII.
    for scalar in String(decoding: encoded(), as: UTF8.self).unicodeScalars {
      if DisplayText.isPlain(scalar) {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in scalar.utf16 {
        let digits = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return text
  }

  /// The value as canonical text, with members sorted by name. For ASCII names and small integers this is RFC 8785's
  /// form. A browser makes the same text with `JSON.stringify` over sorted names.
  public func canonicallyEncoded() -> [UInt8] { sorted.encoded() }

  private var sorted: JSON {
    switch self {
    case .object(let members):
      .object(
        members.map { Member($0.name, $0.value.sorted) }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      )
    case .array(let items): .array(items.map(\.sorted))
    case .null, .bool, .integer, .number, .string: self
    }
  }

  private func write(to text: inout [UInt8]) {
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .integer(let value): text += String(value).utf8
    case .number(let value): JSON.write(value, to: &text)
    case .string(let value): JSON.write(value, to: &text)
    case .array(let items): JSON.write(items, in: "[]", to: &text) { $0.write(to: &$1) }
    case .object(let members):
      JSON.write(members, in: "{}", to: &text) { member, text in
        JSON.write(member.name, to: &text)
        text.append(UInt8(ascii: ":"))
        member.value.write(to: &text)
      }
    }
  }

  private static func write<Part>(
    _ parts: [Part], in brackets: StaticString, to text: inout [UInt8], _ write: (Part, inout [UInt8]) -> Void
  ) {
    text.append(brackets.utf8Start[0])
    for (index, part) in parts.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      write(part, &text)
    }
    text.append(brackets.utf8Start[1])
  }

  /// Escapes quotes, backslashes and control characters, and nothing else (RFC 8259 §7).
  private static func write(_ string: String, to text: inout [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    text.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): text += "\\n".utf8
      case UInt8(ascii: "\r"): text += "\\r".utf8
      case UInt8(ascii: "\t"): text += "\\t".utf8
      case 0x08: text += "\\b".utf8
      case 0x0C: text += "\\f".utf8
      case ..<0x20: text += "\\u00".utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }

  /// Seventeen digits distinguish every number. json-c writes them.
  private static func write(_ number: Double, to text: inout [UInt8]) {
    let object = json_object_new_double(number)
    defer { json_object_put(object) }
    if let written = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN) {
      text += Array(String(cString: written).utf8)
    }
  }
}
