import Glibc
import PAMStacks

/// Finds the `Match` blocks in sshd's configuration and its included files. `sshd -T` has accepted the configuration
/// before.
struct SSHDMatchReader {
  struct Result: Equatable {
    var blocks: [SSHDMatchBlock] = []
    /// Files that may have blocks but were not read.
    var unread: [String] = []
  }

  private static let file = "/etc/ssh/sshd_config"
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
          let whole = pattern.hasPrefix("/") ? pattern : Self.folder + pattern
          guard let files = expand(whole) else {
            result.unread.append(whole)
            continue
          }
          for file in files { look(at: file, in: current, depth: depth + 1, &result) }
        }
      default:
        if let current, Self.deciding.contains(keyword) { result.blocks[current].changesSignIn = true }
        if let current, keyword == "passwordauthentication" { result.blocks[current].changesPasswords = true }
      }
    }
  }

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
