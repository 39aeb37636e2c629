import GRDB
import Synchronization

/// Copies of sessions in memory: clients ask for the same session repeatedly.
///
/// Only the connection that writes uses them, in a transaction that holds the database's lock, so a session cannot
/// change meanwhile. Earlier changes are noticed in two ways: this process drops all copies before each of its own
/// changes, and SQLite counts the commits of every other connection (`PRAGMA data_version`).
final class KnownSessions: Sendable {
  /// The most sessions. Each takes some kilobytes.
  static let greatestCount = 1_000

  private struct State {
    /// SQLite's count; nil if there are no copies.
    var version: Int64?
    var sessions: [String: SessionView] = [:]
  }

  private let state = Mutex(State())

  /// Drops all copies. Call it before this process changes anything but nonces.
  func forgetAll() {
    state.withLock { state in
      state.version = nil
      state.sessions.removeAll(keepingCapacity: true)
    }
  }

  /// Drops all copies if another process has committed. Call it in each transaction, after its first write.
  func follow(_ db: Database) throws {
    let version = try db.first("PRAGMA data_version").map { try $0.get("data_version") as Int64 }
    state.withLock { state in
      if version == nil || state.version != version { state.sessions.removeAll(keepingCapacity: true) }
      state.version = version
    }
  }

  /// The session; nil if there is none. Call it after ``follow(_:)`` in the same transaction.
  func session(_ id: String, in db: Database) throws -> SessionView? {
    if let known = state.withLock({ $0.version == nil ? nil : $0.sessions[id] }) { return known }
    let session = try Session.find(id: id, in: db).map { try SessionView($0, in: db) }
    state.withLock { state in
      if state.sessions.count >= Self.greatestCount { state.sessions.removeAll(keepingCapacity: true) }
      state.sessions[id] = session
    }
    return session
  }
}
