/// `/etc/default/iampass-server`, as systemd reads it (`EnvironmentFile=` in systemd.exec(5)). Comments and other
/// settings do not change.
struct ServiceSettings: Sendable, Equatable {
  /// The settings that setup knows.
  enum Key: String, Sendable {
    case listen = "LISTEN"
    case certificate = "TLS_CERT"
    case key = "TLS_KEY"
    case options = "OPTIONS"
    /// The folder of certbot's certificate, which `certificate renew` copies.
    case certbot = "CERTBOT"
  }

  private var lines: [String]

  init(_ text: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
  }

  var text: String { lines.map { $0 + "\n" }.joined() }

  /// The value in force: the last one, without its quotes; nil if it is not set, or is empty.
  ///
  /// - Throws: for a value with quotes inside, escapes or a continued line, which setup would not write back correctly.
  func value(_ key: Key) throws(SettingNotPlain) -> String? {
    guard let place = place(of: key) else { return nil }
    var value = Self.trimmed(lines[place].drop { $0 != "=" }.dropFirst())
    for quote in ["\"", "'"] where value.count >= 2 && value.hasPrefix(quote) && value.hasSuffix(quote) {
      value = String(value.dropFirst().dropLast())
      break
    }
    guard !value.contains(where: { "\"'\\".contains($0) }) else { throw SettingNotPlain(key: key) }
    return value.isEmpty ? nil : value
  }

  /// Replaces the value in force. A new one comes after the commented line of its name, or at the end.
  mutating func set(_ key: Key, to value: String) {
    let line = "\(key.rawValue)=\(value)"
    if let place = place(of: key) {
      lines[place] = line
    } else if let example = lines.lastIndex(where: { $0.hasPrefix("#\(key.rawValue)=") }) {
      lines.insert(line, at: example + 1)
    } else {
      lines.append(line)
    }
  }

  /// Removes every line that sets it, so that the unit's own value applies.
  mutating func remove(_ key: Key) { lines.removeAll { Self.sets(key, $0) } }

  /// The options of `serve` that setup knows.
  enum Option: String, Sendable {
    case publicURL = "--public-url"
    case pushContact = "--push-contact"
    case pushProxy = "--push-proxy"
    case consoleListen = "--console-listen"
    case consoleURL = "--console-url"
  }

  /// An option's value; nil without it.
  func option(_ option: Option) throws(SettingNotPlain) -> String? {
    let words = try optionWords()
    var found: String?
    for (place, word) in words.enumerated() {
      if word == option.rawValue, place + 1 < words.count { found = words[place + 1] }
      if word.hasPrefix(option.rawValue + "=") { found = String(word.dropFirst(option.rawValue.count + 1)) }
    }
    return found
  }

  /// Sets the option, before the others.
  mutating func set(_ option: Option, to value: String) throws(SettingNotPlain) {
    var others: [String] = []
    var isValue = false
    for word in try optionWords() {
      if isValue {
        isValue = false
      } else if word == option.rawValue {
        isValue = true
      } else if !word.hasPrefix(option.rawValue + "=") {
        others.append(word)
      }
    }
    set(.options, to: ([option.rawValue, value] + others).joined(separator: " "))
  }

  private func optionWords() throws(SettingNotPlain) -> [String] {
    try (value(.options) ?? "").split { $0 == " " || $0 == "\t" }.map(String.init)
  }

  private func place(of key: Key) -> Int? { lines.lastIndex { Self.sets(key, $0) } }

  private static func sets(_ key: Key, _ line: String) -> Bool { trimmed(line[...]).hasPrefix("\(key.rawValue)=") }

  private static func trimmed(_ text: Substring) -> String {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}

/// A setting that setup does not change, because it could misread it.
struct SettingNotPlain: Error, Sendable, Equatable {
  let key: ServiceSettings.Key
}
