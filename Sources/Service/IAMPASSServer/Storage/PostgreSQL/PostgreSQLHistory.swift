import PostgreSQLLink
import Synchronization

/// Notices that the database may lack data that it had before: a standby was promoted, or a copy was restored.
///
/// The database stores where its history was last written. That is the id of its cluster, which differs after a copy
/// into another cluster; the cluster's timeline, which a promotion or a recovery to an earlier time changes; and the
/// number of a table, which `pg_restore` changes. If the place has changed, a higher epoch begins, as with SQLite's
/// copies: see ``RestoredCopy``.
///
/// A server checks each new connection before it uses it: a promoted standby, or a replaced database, is reached over
/// new connections. It also checks each second, because a pooler, or an address with a standby, may keep a connection
/// over the promotion.
final class PostgreSQLHistory: Sendable {
  private struct State {
    /// Nil: connections are not checked yet. Commands do not need it, and a database that is being moved must not be
    /// changed.
    var clock: StorageClock?
    var hasBegun = false
  }

  private let state = Mutex(State())

  /// The present place of the history, and the stored one. A standby has no place, because it cannot be written to.
  /// `pg_control_checkpoint()` would show the timeline only after the next checkpoint.
  private static let look = PostgreSQLCall(
    """
    SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE
        (SELECT system_identifier FROM pg_control_system())::text
        || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '-' || 'service_mark'::regclass::oid::text
      END AS place,
      (SELECT place FROM history_place) AS kept
    """)

  /// Checks each new connection from now on.
  func watch(by clock: StorageClock) { state.withLock { $0.clock = clock } }

  /// Whether this server has begun an epoch since the last call.
  func takeBeginning() -> Bool {
    state.withLock { state in
      defer { state.hasBegun = false }
      return state.hasBegun
    }
  }

  /// Begins an epoch if the place of the history has changed. No reply may be sent before.
  ///
  /// - Throws: ``StorageError`` with `clockBehindCopy`, and ``PostgreSQLError``: then the connection must not be used.
  func check(_ connection: PostgreSQLConnection) throws {
    guard let clock = state.withLock(\.clock) else { return }
    let (place, kept) = try Self.places(connection.ask([Self.look]))
    guard let place, place != kept else { return }
    do {
      // The lock comes before the first look: see ``PostgreSQLStorage``. One of several servers begins the epoch.
      let opening = [
        PostgreSQLCall("BEGIN ISOLATION LEVEL SERIALIZABLE"), PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE"),
      ]
      let (place, kept) = try Self.places(connection.ask(opening + [Self.look]))
      guard let place, place != kept else { return connection.rollBack() }
      let db = PostgreSQLTransaction(connection)
      if kept != nil {
        let now = clock.wall()
        try RestoredCopy.begin(at: now, made: StorageClock.stored(in: db)?.unixTime ?? now, in: db)
      }
      try db.commit(
        after: PostgreSQLCall(
          """
          INSERT INTO history_place (id, place) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET place = excluded.place
          """, .text(place)))
      if kept != nil { state.withLock { $0.hasBegun = true } }
    } catch {
      connection.rollBack()
      throw error
    }
  }

  private static func places(_ answers: [[PostgreSQLRow]]) throws -> (now: String?, kept: String?) {
    guard let row = answers.last?.first else { throw DamagedRow(column: "place") }
    return (try row.text(0), try row.text(1))
  }
}

extension PostgreSQLStorage {
  /// Whether the place of the history has changed since a server last checked it. Call it once, before the first
  /// request. It then checks each new connection.
  ///
  /// - Throws: ``StorageError``.
  public func beginWithCopy() throws -> Bool {
    pool.history.watch(by: clock)
    do {
      try pool.again { try pool.history.check($0) }
    } catch let error as PostgreSQLError {
      guard error.code == .refused(sqlState: "42501") else { throw StorageError(error, url) }
      throw StorageError(.historyUnreadable, path: url, detail: error.line)
    }
    return pool.history.takeBeginning()
  }

  public func auditHistory() async throws -> String {
    let isClosed = try await read { try HistoryMark.isClosed(in: $0) }
    return "\(isClosed)"
  }
}
