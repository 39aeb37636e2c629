import GRDB
import Synchronization

/// Copies of sessions in memory: clients ask for the same session repeatedly.
///
/// Only the connection that writes uses them, in a transaction that holds the database's lock, so a session cannot
/// change meanwhile. Earlier changes are noticed in two ways: after each of its own changes, this process drops the
/// copies of what that may have changed, and SQLite counts the commits of every other connection (`PRAGMA data_version`).
final class KnownSessions: Sendable {
  /// The most sessions. Each takes some kilobytes.
  private static let greatestCount = 10_000

  private let copies = Remembered<SessionView>(greatestCount: KnownSessions.greatestCount)
  /// SQLite's count; nil if there are no copies.
  private let version = Mutex<Int64?>(nil)

  /// The number of copies.
  var count: Int { copies.count }

  /// Drops copies. Call it for each transaction that changed anything but nonces, on the connection that writes, before
  /// that begins another one.
  ///
  /// - Parameter ids: the sessions that may have changed, or whose answer or user may have; nil: any.
  func forget(_ ids: [String]?) {
    guard let ids else {
      version.withLock { $0 = nil }
      return copies.forgetAll()
    }
    for id in ids { copies.forget(id) }
  }

  /// Drops all copies if another process has committed. Call it in each transaction, after its first write.
  func follow(_ db: Database) throws {
    let current = try db.first("PRAGMA data_version").map { try $0.get("data_version") as Int64 }
    let isSame = version.withLock { version in
      defer { version = current }
      return current != nil && version == current
    }
    if !isSame { copies.forgetAll() }
  }

  /// The session; nil if there is none. Call it after ``follow(_:)`` in the same transaction.
  func session(_ id: String, in db: Database) throws -> SessionView? {
    let isFollowed = version.withLock { $0 != nil }
    if isFollowed, let known = copies[id] { return known }
    let session = try Session.find(id: id, in: db).map { try SessionView($0, in: db) }
    if let session { copies.keep(session, as: id) } else { copies.forget(id) }
    return session
  }
}
