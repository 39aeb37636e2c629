import Glibc
import HostState
import HostSystem

/// One line of a PAM file, or a line that takes its place.
public struct PAMLine: Sendable, Equatable {
  public let kind: String
  /// The control as written, such as `required` or `[success=1 default=ignore]`.
  public let control: String
  /// The module as written: a name in the modules' folder, or an absolute path.
  public let module: String
  public let arguments: [String]
  public let file: String
  /// The line's number, counted from 1.
  public let line: Int

  public init(kind: String, control: String, module: String, arguments: [String], file: String, line: Int) {
    self.kind = kind
    self.control = control
    self.module = module
    self.arguments = arguments
    self.file = file
    self.line = line
  }

  public var place: String { "\(file):\(line)" }

  /// The module's name, such as `pam_unix` for `/lib/security/pam_unix.so`.
  public var moduleName: String {
    let file = module.split(separator: "/").last.map(String.init) ?? module
    return file.hasSuffix(".so") ? String(file.dropLast(3)) : file
  }
}

/// Why a PAM file cannot be used.
public enum PAMFileError: Error, Sendable, Equatable {
  case missing(String)
  case unreadable(String)
  case badLine(String, line: Int)
  /// Files include each other more deeply than libpam follows.
  case includedTooDeep(String)

  public var explanation: String {
    switch self {
    case .missing(let path): "\(path) is missing"
    case .unreadable(let path): "\(path) cannot be read"
    case .badLine(let path, let line): "\(path):\(line): not a line that libpam understands"
    case .includedTooDeep(let path): "\(path): files include each other"
    }
  }
}

/// One stack of a service: its lines in order. A `substack` ends on its own (pam.conf(5)).
public indirect enum PAMEntry: Sendable, Equatable {
  case module(PAMLine)
  case substack([PAMEntry])

  /// All module lines in order, including those of substacks.
  public var lines: [PAMLine] {
    switch self {
    case .module(let line): [line]
    case .substack(let entries): entries.flatMap(\.lines)
    }
  }
}

/// Reads PAM files as libpam does: `@include`, `include`, `substack`, continued lines, bracketed arguments.
public struct PAMReader {
  /// libpam's own PAM_SUBSTACK_MAX_LEVEL.
  static let greatestDepth = 16
  /// The greatest size of a file in bytes.
  static let greatestSize = 256 * 1024
  static let kinds: Set<String> = ["auth", "account", "password", "session"]

  /// The vendor's folder, where libpam looks for files that the administrator's folder does not have.
  package static let vendorFolders = ["/etc/pam.d": "/usr/lib/pam.d"]

  private let folder: String
  private let read: (String) -> [UInt8]?
  private let isInstalled: (String) -> Bool

  /// - Parameters:
  ///   - read: a file's bytes by its path; nil where it is not there.
  ///   - isInstalled: whether a locker is there, by its program's name.
  public init(
    folder: String, read: @escaping (String) -> [UInt8]? = PAMReader.readFile,
    isInstalled: @escaping (String) -> Bool = PAMReader.isInstalled
  ) {
    self.folder = folder
    self.read = read
    self.isInstalled = isInstalled
  }

  /// Whether the program is there, as a package of Debian's brings it.
  public static func isInstalled(_ program: String) -> Bool { access("/usr/bin/\(program)", X_OK) == 0 }

  public static func readFile(_ path: String) -> [UInt8]? { ProcessFile.read(path, limit: greatestSize) }

  /// Whether the service has a file to go by.
  public func has(_ service: String) -> Bool { read(path(of: fileName(of: service))) != nil }

  /// The name of the file that the service goes by. A locker that is installed without a file of its own goes by the one
  /// of ``ServiceRow/asksAs``.
  public func fileName(of service: String) -> String {
    guard let other = ServiceTable.row(service)?.asksAs, read(path(of: service)) == nil, isInstalled(service),
      read(path(of: other)) != nil
    else { return service }
    return other
  }

  /// The stack of a service for `auth`, `session` and so on.
  public func stack(_ kind: String, of service: String) throws(PAMFileError) -> [PAMEntry] {
    try entries(of: fileName(of: service), kind: kind, depth: 0)
  }

  /// The names that are services. A file that is included by another does not count.
  public func services(among names: [String]) -> [String] {
    let included = Set(names.flatMap { filesIncluded(by: $0) })
    return names.filter { !included.contains($0) }
  }

  private func filesIncluded(by name: String) -> [String] {
    var files: [String] = []
    for (_, text) in Self.logicalLines(read(path(of: name)) ?? []) {
      let words = Self.words(text)
      if words.count == 2, words[0] == "@include" {
        files.append(words[1])
      } else if words.count > 2, ["include", "substack"].contains(words[1].lowercased()) {
        files.append(words[2])
      }
    }
    return files.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
  }

  /// The file of this name that is in force.
  package func path(of name: String) -> String {
    if name.hasPrefix("/") { return name }
    let own = folder + "/" + name
    guard read(own) == nil, let vendor = Self.vendorFolders[folder] else { return own }
    let other = vendor + "/" + name
    return read(other) == nil ? own : other
  }

  private func entries(of name: String, kind: String, depth: Int) throws(PAMFileError) -> [PAMEntry] {
    let path = path(of: name)
    guard depth < Self.greatestDepth else { throw .includedTooDeep(path) }
    guard let bytes = read(path) else { throw .missing(path) }
    var entries: [PAMEntry] = []
    for (number, text) in Self.logicalLines(bytes) {
      let words = Self.words(text)
      guard let first = words.first else { continue }
      if first == "@include" {
        guard words.count == 2 else { throw .badLine(path, line: number) }
        entries += try self.entries(of: words[1], kind: kind, depth: depth + 1)
        continue
      }
      // A leading "-" has no effect but to keep a missing module out of the log.
      let lineKind = (first.hasPrefix("-") ? String(first.dropFirst()) : first).lowercased()
      guard Self.kinds.contains(lineKind), words.count >= 3 else { throw .badLine(path, line: number) }
      guard lineKind == kind else { continue }
      switch words[1].lowercased() {
      case "include": entries += try self.entries(of: words[2], kind: kind, depth: depth + 1)
      case "substack": entries.append(.substack(try self.entries(of: words[2], kind: kind, depth: depth + 1)))
      default:
        entries.append(
          .module(
            PAMLine(
              kind: kind, control: words[1], module: words[2], arguments: Array(words.dropFirst(3)), file: path,
              line: number)))
      }
    }
    return entries
  }

  /// Lines without comments. A backslash at the end joins the next line. Each has the number of its first line.
  private static func logicalLines(_ bytes: [UInt8]) -> [(Int, String)] {
    var lines: [(Int, String)] = []
    var pending: (Int, String)?
    var number = 0
    for raw in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      // libpam compares bytes too.
      let said = raw.prefix { $0 != UInt8(ascii: "#") }
      let continues = said.last == UInt8(ascii: "\\")
      let text = String(decoding: continues ? said.dropLast() : said, as: UTF8.self)
      let joined = (pending?.1).map { $0 + " " + text } ?? text
      let start = pending?.0 ?? number
      if continues {
        pending = (start, joined)
      } else {
        pending = nil
        lines.append((start, joined))
      }
    }
    if let pending { lines.append(pending) }
    return lines
  }

  /// Words; `[…]` is one word, kept with its brackets.
  private static func words(_ text: String) -> [String] {
    var words: [String] = []
    var word = ""
    var isBracketed = false
    for scalar in text.unicodeScalars {
      switch scalar {
      case "[" where word.isEmpty:
        isBracketed = true
        word.unicodeScalars.append(scalar)
      case "]" where isBracketed:
        isBracketed = false
        word.unicodeScalars.append(scalar)
      case " ", "\t", "\r":
        if isBracketed { word.append(" ") } else if !word.isEmpty { words.append(word) }
        if !isBracketed { word = "" }
      default: word.unicodeScalars.append(scalar)
      }
    }
    if !word.isEmpty { words.append(word) }
    return words
  }
}
