/// Changes values in the text of a `key = value` file and leaves the rest as it is, comments too.
public enum KeyValueEditor {
  /// The text with these values. A key that is there gets its new value in place. A new key is added at the end.
  ///
  /// The text must be valid for its reader. Each value must be one line of text.
  public static func setting(_ values: [(key: String, value: String)], in text: [UInt8]) -> [UInt8] {
    var lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    // The last line's end begins no further line.
    if lines.last?.isEmpty ?? false { lines.removeLast() }
    for (key, value) in values {
      let line = Array("\(key) = \(value)".utf8)
      if let index = lines.firstIndex(where: { Self.key(of: $0) == key }) {
        lines[index] = line
      } else {
        lines.append(line)
      }
    }
    return Array(lines.map { $0 + [UInt8(ascii: "\n")] }.joined())
  }

  /// The text without the lines of these keys.
  public static func removing(_ keys: [String], from text: [UInt8]) -> [UInt8] {
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let kept = lines.filter { line in !(key(of: Array(line)).map(keys.contains) ?? false) }
    return Array(kept.joined(separator: [UInt8(ascii: "\n")]))
  }

  /// The text before a line's first `=`; nil without `=`. A comment does not match a key, since keys have no `#`.
  private static func key(of line: [UInt8]) -> String? {
    let text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let key = text[..<equals]
    let end = key.lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return end.map { String(decoding: key[...$0], as: UTF8.self) }
  }
}
