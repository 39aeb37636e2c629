import HostSystem

/// Display managers that sign a user in by themselves whenever their greeter comes back. A phone that leaves logs its user
/// out there, and the user is signed in again without it.
public enum ReloginFindings {
  /// A file of settings, in the form of an INI file.
  public struct File {
    let path: String
    let text: [UInt8]

    public init(path: String, text: [UInt8]) {
      self.path = path
      self.text = text
    }
  }

  public enum Manager: Sendable, CaseIterable {
    case sddm, gdm

    /// Its PAM service.
    var service: String {
      switch self {
      case .sddm: "sddm"
      case .gdm: "gdm-password"
      }
    }

    var section: String {
      switch self {
      case .sddm: "Autologin"
      case .gdm: "daemon"
      }
    }

    /// The key that switches it on, and the key of its user.
    var keys: (isOn: String, user: String) {
      switch self {
      case .sddm: ("Relogin", "User")
      case .gdm: ("TimedLoginEnable", "TimedLogin")
      }
    }

    /// Values that switch it on, in lower case.
    var yes: Set<String> {
      switch self {
      case .sddm: ["true", "yes", "on", "1"]
      case .gdm: ["true", "1"]
      }
    }

    /// Its files, in the order in which it reads them: a later one counts more (sddm.conf(5)).
    var files: [String] {
      switch self {
      case .sddm:
        ReloginFindings.files(in: "/usr/lib/sddm/sddm.conf.d") + ReloginFindings.files(in: "/etc/sddm.conf.d")
          + ["/etc/sddm.conf"]
      case .gdm: ["/etc/gdm3/daemon.conf"]
      }
    }
  }

  /// Bytes. A file of settings has some hundred lines.
  private static let greatestSize = 256 * 1024
  /// The most files of a folder.
  private static let greatestCount = 100

  /// - Parameter services: the PAM services of this computer.
  static func findings(_ services: [String]) -> [Finding] {
    Manager.allCases.filter { services.contains($0.service) }.compactMap { manager in
      finding(
        manager,
        manager.files.compactMap { path in
          ProcessFile.read(path, limit: greatestSize).map { File(path: path, text: $0) }
        })
    }
  }

  /// - Parameter files: in the order in which the display manager reads them.
  public static func finding(_ manager: Manager, _ files: [File]) -> Finding? {
    var isOn: (path: String, line: String)?
    var user = ""
    for file in files {
      for (key, value) in settings(in: manager.section, of: file.text) {
        if key == manager.keys.isOn {
          isOn = manager.yes.contains(value.lowercased()) ? (path: file.path, line: "\(key)=\(value)") : nil
        }
        if key == manager.keys.user { user = value }
      }
    }
    guard let isOn, !user.isEmpty else { return nil }
    return Finding(
      .warning, .configuration,
      "\(isOn.path) has \(isOn.line): after a logout \(user) is signed in again, without phone or password",
      hint: "remove the line")
  }

  /// The keys of a section with their values, in the order of the lines. A later line counts more.
  private static func settings(in section: String, of text: [UInt8]) -> [(key: String, value: String)] {
    var found: [(key: String, value: String)] = []
    var isInside = false
    for bytes in text.split(separator: UInt8(ascii: "\n")) {
      // A comment. GDM has them only at the beginning of a line, and its values have no number sign.
      let line = trimmed(bytes.prefix { $0 != UInt8(ascii: "#") })
      if line.hasPrefix("["), line.hasSuffix("]") {
        isInside = line.dropFirst().dropLast() == section
      } else if isInside, let equals = line.firstIndex(of: "=") {
        let value = line[line.index(after: equals)...]
        found.append((key: trimmed(line[..<equals].utf8), value: trimmed(value.utf8)))
      }
    }
    return found
  }

  private static func trimmed(_ text: some BidirectionalCollection<UInt8>) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    let rest = text.drop(while: isBlank)
    let end = rest.lastIndex { !isBlank($0) }.map { rest.index(after: $0) } ?? rest.startIndex
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  /// The files of a folder in the order of their names; none if there is no folder.
  private static func files(in folder: String) -> [String] {
    let names = ((try? FolderListing.names(in: folder)) ?? []).filter { !$0.hasPrefix(".") }
    return names.sorted().prefix(greatestCount).map { folder + "/" + $0 }
  }
}
