import HostSystem

/// Why a `key = value` file is not used.
public enum KeyValueError: Error, Sendable, Equatable {
  case file(FileError)
  /// The line is not `key = value`, or not valid UTF-8 without control characters.
  case badLine(Int)
  case keyTwice(String, line: Int)

  public func explanation(path: String) -> String {
    switch self {
    case .file(let error): error.explanation
    case .badLine(let line): "\(path):\(line): not a line of the form key = value"
    case .keyTwice(let key, let line): "\(path):\(line): \(key) is set twice"
    }
  }
}

/// A file of `key = value` lines, with `#` comments on lines of their own.
package struct KeyValueFile {
  /// Greatest size in bytes.
  static let greatestSize = 64 * 1024

  package struct Entry: Equatable {
    package let key: String
    package let value: String
    /// The line's number, counted from 1.
    package let line: Int
  }

  let entries: [Entry]

  package init(path: String, privacy: SecureFile.Privacy) throws(KeyValueError) {
    let bytes: [UInt8]
    do {
      bytes = try SecureFile.read(path, privacy: privacy, limit: Self.greatestSize)
    } catch { throw .file(error) }
    try self.init(parsing: bytes)
  }

  init(parsing bytes: [UInt8]) throws(KeyValueError) {
    var entries: [Entry] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard let text = String(validating: line, as: UTF8.self), text.unicodeScalars.allSatisfy(Self.isText) else {
        throw .badLine(number)
      }
      // This compares bytes. A combining mark changes the character before it, but not its bytes.
      let trimmed = Self.trimmed(line)
      if trimmed.isEmpty || trimmed.first == UInt8(ascii: "#") { continue }
      guard let equals = trimmed.firstIndex(of: UInt8(ascii: "=")) else { throw .badLine(number) }
      let name = Self.trimmed(trimmed[..<equals])
      guard !name.isEmpty, name.allSatisfy(Self.isKeyCharacter) else { throw .badLine(number) }
      let key = String(decoding: name, as: UTF8.self)
      let value = String(decoding: Self.trimmed(trimmed[(equals + 1)...]), as: UTF8.self)
      guard !entries.contains(where: { $0.key == key }) else { throw .keyTwice(key, line: number) }
      entries.append(Entry(key: key, value: value, line: number))
    }
    self.entries = entries
  }

  package subscript(key: String) -> Entry? { entries.first { $0.key == key } }

  private static func isText(_ scalar: Unicode.Scalar) -> Bool {
    (scalar.value >= 0x20 && scalar.value != 0x7F || scalar == "\t") && scalar != "\u{FEFF}"
  }

  private static func isKeyCharacter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let text = line.drop(while: isBlank)
    return text[..<(text.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? text.startIndex)]
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
