import HostState

/// The files of the configuration. The configuration is read again if one of them has changed, and until it can be used:
/// what was in the way may be no change of a file, such as the mode of a folder, or descriptors that had run out.
struct ConfigurationFiles {
  private let configuration: String
  private var authorities: String?
  /// The files as they were before they were last read.
  private var read: [FileStamp?]?
  /// The files of the configuration in force; nil if there is none.
  private var used: [FileStamp?]?

  init(path: String) { configuration = path }

  /// Takes the authorities file that the configuration names. The other files keep the stamps from before they were
  /// read, so that a file that was replaced meanwhile is read again.
  mutating func note(authorities: String?) {
    guard authorities != self.authorities else { return }
    self.authorities = authorities
    read = read.map { $0.dropLast() + [stamps.last ?? nil] }
  }

  /// What was read is in force from now on.
  mutating func wereUsed() { used = read }

  mutating func forget() { used = nil }

  /// Whether the files are to be read, because they are not those in force.
  mutating func haveChanged() -> Bool {
    let now = stamps
    read = now
    return now != used
  }

  private var stamps: [FileStamp?] {
    [configuration, SetupPlace(configuration: configuration).credentials, authorities].map { path in
      path.flatMap { FileStamp(path: $0) }
    }
  }
}
