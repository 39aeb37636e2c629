import CommandSupport
import Glibc

/// The packaged service's database, which root's commands use by default.
enum PackagedDatabase: Sendable, Equatable {
  case folder(String)
  /// - Parameter passwordFile: the unit's `PGPASSFILE`.
  case postgreSQL(url: String, passwordFile: String?)

  /// The package's data folder. It belongs to the service's user.
  static let usualFolder = "/var/lib/iampass-server"
  /// The value of a property that systemd prints.
  private static let argumentsBegin = "argv[]="

  /// Whether root runs this on the computer of a packaged service.
  static var isHere: Bool {
    var found = stat()
    return geteuid() == 0 && stat(usualFolder, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
  }

  /// - Throws: if the unit's database is not known.
  static func find() throws(CommandProblem) -> PackagedDatabase {
    guard ServiceUnit.isThere else { return .folder(usualFolder) }
    guard let shown = ServiceUnit(name: SetupPlaces.usualUnit).command else { throw .unitNotKnown }
    return try of(shown)
  }

  /// - Parameter shown: systemctl(1)'s output for `ExecStart` and `Environment`.
  static func of(_ shown: String) throws(CommandProblem) -> PackagedDatabase {
    let lines = shown.split(separator: "\n")
    guard let line = lines.last(where: { $0.hasPrefix("ExecStart=") }),
      let words = arguments(in: String(line))
    else { return .folder(usualFolder) }
    if let url = try value(of: "--database", in: words) {
      let settings = lines.first { $0.hasPrefix("Environment=") }.map { $0.dropFirst("Environment=".count) } ?? ""
      let name = "PGPASSFILE="
      let file = settings.split(separator: " ").last { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
      return .postgreSQL(url: url, passwordFile: file)
    }
    return .folder(try value(of: "--data", in: words) ?? usualFolder)
  }

  /// Nil if the unit does not exist.
  private static func arguments(in line: String) -> [String]? {
    let parts = line.split(separator: " ").map(String.init)
    guard let first = parts.firstIndex(where: { $0.hasPrefix(argumentsBegin) }) else { return nil }
    return Array(parts[first...].prefix { $0 != ";" })
  }

  private static func value(of option: String, in words: [String]) throws(CommandProblem) -> String? {
    var found: String?
    for (place, word) in words.enumerated() {
      if word == option, place + 1 < words.count { found = words[place + 1] }
      if word.hasPrefix(option + "=") { found = String(word.dropFirst(option.count + 1)) }
    }
    // systemd replaces variables only when it starts the service.
    guard found?.contains("$") != true else { throw .unitNotKnown }
    return found
  }
}

extension CommandProblem {
  fileprivate static let unitNotKnown = CommandProblem(
    message: "the database of the unit \(SetupPlaces.usualUnit) cannot be known",
    hint: "give --data or --database; systemctl cat \(SetupPlaces.usualUnit) shows the service's", exitCode: EX_CONFIG)
}
