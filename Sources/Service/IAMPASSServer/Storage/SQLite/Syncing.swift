import GRDB
import Synchronization

/// Whether a commit of the one connection that writes waits for the disk.
final class Syncing: Sendable {
  /// SQLite's words. GRDB sets NORMAL for a connection with a write-ahead log.
  enum Mode: String {
    case full = "FULL"
    case normal = "NORMAL"
  }

  private let current = Mutex<Mode?>(nil)

  func become(_ mode: Mode, of db: Database) throws {
    try current.withLock { current in
      guard current != mode else { return }
      try db.execute(sql: "PRAGMA synchronous = \(mode.rawValue)")
      current = mode
    }
  }
}
