import Glibc
import HostState

/// The files of the configuration, which is read again when one of them has changed.
struct ConfigurationFiles {
  private struct Stamp: Equatable {
    let device: UInt
    let inode: UInt
    let size: Int
    let seconds: Int
    let nanoseconds: Int
  }

  private let configuration: String
  private var authorities: String?
  private var seen: [Stamp?]?

  init(path: String) { configuration = path }

  /// The configuration that was read names these. The other files keep the stamps from before they were read: one that
  /// was replaced in between is read again.
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

  private var stamps: [Stamp?] {
    [configuration, SetupPlace(configuration: configuration).credentials, authorities].map { path in
      var found = stat()
      guard let path, stat(path, &found) == 0 else { return nil }
      return Stamp(
        device: UInt(found.st_dev), inode: UInt(found.st_ino), size: Int(found.st_size),
        seconds: found.st_ctim.tv_sec, nanoseconds: found.st_ctim.tv_nsec)
    }
  }
}
