import HostState

/// The files of the configuration. The configuration is read again if one of them has changed.
struct ConfigurationFiles {
  private let configuration: String
  private var authorities: String?
  private var seen: [FileStamp?]?

  init(path: String) { configuration = path }

  /// Takes the authorities file that the configuration names. The other files keep the stamps from before they were
  /// read, so that a file that was replaced meanwhile is read again.
  mutating func note(authorities: String?) {
    guard authorities != self.authorities else { return }
    self.authorities = authorities
    seen = seen.map { $0.dropLast() + [stamps.last ?? nil] }
  }

  mutating func forget() { seen = nil }

  mutating func haveChanged() -> Bool {
    let now = stamps
    defer { seen = now }
    return now != seen
  }

  private var stamps: [FileStamp?] {
    [configuration, SetupPlace(configuration: configuration).credentials, authorities].map { path in
      path.flatMap { FileStamp(path: $0) }
    }
  }
}
