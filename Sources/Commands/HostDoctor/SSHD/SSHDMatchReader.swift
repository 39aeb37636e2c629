import Glibc
import PAMStacks

/// Finds the `Match` blocks in sshd's configuration and its included files. `sshd -T` has accepted the configuration
/// before.
struct SSHDMatchReader {
  /// A line of AuthenticationMethods.
  struct MethodsLine: Equatable {
    /// The line's place, such as `/etc/ssh/sshd_config:12`.
    let place: String
    let value: String
    /// The index of the line's block in the result; nil outside of blocks.
    let block: Int?
  }

  struct Result: Equatable {
    var blocks: [SSHDMatchBlock] = []
    var methods: [MethodsLine] = []
    /// Files that may have blocks but were not read.
    var unread: [String] = []
  }

  static let file = "/etc/ssh/sshd_config"
  private static let folder = "/etc/ssh/"
  /// sshd's own SERVCONF_MAX_DEPTH.
  private static let greatestDepth = 16
  /// The settings that decide whether the phone is asked.
  private static let deciding: Set<String> = [
    "usepam", "pamservicename", "authenticationmethods", "kbdinteractiveauthentication",
    // These are older names.
    "challengeresponseauthentication", "skeyauthentication",
    "pubkeyauthentication", "dsaauthentication", "hostbasedauthentication", "gssapiauthentication",
  ]

  /// KbdInteractiveAuthentication and its older names.
  private static let keyboardInteractive: Set<String> = [
    "kbdinteractiveauthentication", "challengeresponseauthentication", "skeyauthentication",
  ]

  private let read: (String) -> [UInt8]?
  private let expand: (String) -> [String]?

  /// - Parameters:
  ///   - read: gives a file's bytes by its path; nil if it cannot be read.
  ///   - expand: gives the files that a pattern names, in order; nil if they are not known.
  init(
    read: @escaping (String) -> [UInt8]? = PAMReader.readFile,
    expand: @escaping (String) -> [String]? = SSHDMatchReader.files
  ) {
    self.read = read
    self.expand = expand
  }

  func look() -> Result {
    var result = Result()
    look(at: Self.file, in: nil, depth: 0, &result)
    return result
  }

  /// - Parameter outer: the place in `result` of the block that includes the file. It ends with the file.
  private func look(at path: String, in outer: Int?, depth: Int, _ result: inout Result) {
    guard depth <= Self.greatestDepth, let bytes = read(path) else { return result.unread.append(path) }
    var current = outer
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let (keyword, rest) = Self.keyword(String(decoding: line, as: UTF8.self))
      switch keyword {
      case "match":
        let around = outer.map { result.blocks[$0].criteria } ?? []
        result.blocks.append(SSHDMatchBlock(place: "\(path):\(number)", criteria: around + Self.criteria(rest)))
        current = result.blocks.count - 1
      case "include":
        for pattern in Self.words(rest) {
          let whole = Self.whole(pattern)
          guard let files = expand(whole) else {
            result.unread.append(whole)
            continue
          }
          for file in files { look(at: file, in: current, depth: depth + 1, &result) }
        }
      default:
        if keyword == "authenticationmethods" {
          let value = Self.words(rest).joined(separator: " ")
          result.methods.append(MethodsLine(place: "\(path):\(number)", value: value, block: current))
        }
        guard let current else { continue }
        if Self.deciding.contains(keyword) { result.blocks[current].changesSignIn = true }
        if Self.keyboardInteractive.contains(keyword) { result.blocks[current].setsKeyboardInteractive = true }
        if keyword == "passwordauthentication" { result.blocks[current].changesPasswords = true }
      }
    }
  }

  /// The main file's text without one of the files that it includes. A file that another included file includes stays.
  /// Nil if the main file, or a pattern in it, cannot be read.
  ///
  /// - Parameter left: the path of the file that is left out.
  func mainFile(without left: String) -> [UInt8]? {
    guard let bytes = read(Self.file) else { return nil }
    var lines: [[UInt8]] = []
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let (keyword, rest) = Self.keyword(String(decoding: line, as: UTF8.self))
      guard keyword == "include" else {
        lines.append(Array(line))
        continue
      }
      guard let files = included(rest) else { return nil }
      guard files.contains(left) else {
        lines.append(Array(line))
        continue
      }
      let others = files.filter { $0 != left }.map { "\"\($0)\"" }
      lines.append(others.isEmpty ? [] : Array("Include \(others.joined(separator: " "))".utf8))
    }
    return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
  }

  /// The files of an Include line, in order; nil if they are not known.
  private func included(_ patterns: String) -> [String]? {
    var files: [String] = []
    for pattern in Self.words(patterns) {
      guard let more = expand(Self.whole(pattern)) else { return nil }
      files += more
    }
    return files
  }

  private static func whole(_ pattern: String) -> String { pattern.hasPrefix("/") ? pattern : folder + pattern }

  /// A line's keyword in lower case, and the text after it. A space or one `=` separates them.
  private static func keyword(_ line: String) -> (String, String) {
    let text = line.unicodeScalars.drop(while: isBlank)
    let word = text.prefix { !isBlank($0) && $0 != "=" }
    var rest = text.dropFirst(word.count).drop(while: isBlank)
    if rest.first == "=" { rest = rest.dropFirst() }
    return (String(word).lowercased(), String(rest))
  }

  /// `All` has no list, and holds for all connections.
  private static func criteria(_ text: String) -> [SSHDMatchBlock.Criterion] {
    var criteria: [SSHDMatchBlock.Criterion] = []
    var words = words(text, splitting: "=")[...]
    while let name = words.popFirst() {
      if name.lowercased() == "all" { continue }
      let list = name.lowercased() == "invalid-user" ? nil : words.popFirst()
      criteria.append(
        SSHDMatchBlock.Criterion(name: name, patterns: list?.split(separator: ",").map(String.init) ?? []))
    }
    return criteria
  }

  /// The words before a comment. Spaces in quotes do not separate.
  private static func words(_ text: String, splitting separator: Unicode.Scalar? = nil) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      if let open = quote {
        if scalar == open { quote = nil } else { word?.unicodeScalars.append(scalar) }
      } else if scalar == "\"" || scalar == "'" {
        quote = scalar
        word = word ?? ""
      } else if isBlank(scalar) || scalar == separator {
        if let word { words.append(word) }
        word = nil
      } else if scalar == "#", word == nil {
        break
      } else {
        word = word ?? ""
        word?.unicodeScalars.append(scalar)
      }
    }
    if let word { words.append(word) }
    return words
  }

  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" || scalar == "\r" }

  static func files(_ pattern: String) -> [String]? {
    var found = glob_t()
    defer { globfree(&found) }
    switch glob(pattern, 0, nil, &found) {
    case 0:
      // SAFETY: after 0 glob(3) has gl_pathc terminated texts there, until globfree(3).
      return (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
    case GLOB_NOMATCH: return []
    default: return nil
    }
  }
}
