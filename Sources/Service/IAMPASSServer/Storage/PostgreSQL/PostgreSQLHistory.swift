import PostgreSQLLink
import Synchronization

/// Notices that the database may lack what it knew before: a standby was promoted, or a copy was put back.
///
/// The database keeps where its history was written last: the number of its cluster, which a copy into another one has
/// not; the cluster's timeline, which a promotion or a recovery to an earlier time ends; and the number of a table, which
/// `pg_restore` makes again. If it is another place now, a higher epoch begins, as with SQLite's copies: see
/// ``RestoredCopy``.
///
/// A server looks at each new connection before it uses it, since a standby that was promoted, or a database that was
/// put in another's place, is reached by new ones. It also looks each second: a pooler, or an address that takes a
/// standby, may have kept a connection over the promotion.
final class PostgreSQLHistory: Sendable {
  private struct State {
    /// Nil: nobody looks yet. A command is over before it matters, and a database that is being moved is not changed.
    var clock: StorageClock?
    var hasBegun = false
  }

  private let state = Mutex(State())

  /// The place where the history is written now, and the one that is kept. No place is known of a standby, which nothing
  /// can be written to. `pg_control_checkpoint()` would say the timeline only after the next checkpoint.
  private static let look = PostgreSQLCall(
    """
    SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE
        (SELECT system_identifier FROM pg_control_system())::text
        || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '-' || 'service_mark'::regclass::oid::text
      END AS place,
      (SELECT place FROM history_place) AS kept
    """)

  /// From now on each new connection is looked at.
  func watch(by clock: StorageClock) { state.withLock { $0.clock = clock } }

  /// Whether an epoch began here since this was asked last.
  func takeBeginning() -> Bool {
    state.withLock { state in
      defer { state.hasBegun = false }
      return state.hasBegun
    }
  }

  /// Begins an epoch if the history goes on at another place. Nobody may be told anything before.
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
      let db = PostgreSQLWork(connection)
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
  /// Whether the history went on at another place since a server looked last; to be called once, before the first request.
  /// From then on each new connection is looked at.
  ///
  /// - Throws: ``StorageError``.
  public func beginWithCopy() throws -> Bool {
    pool.history.watch(by: clock)
    do {
      try pool.again { try pool.history.check($0) }
    } catch let error as PostgreSQLError {
      guard error.code == .refused(sqlState: "42501") else { throw StorageError(error, url) }
      throw StorageError(.historyUnreadable, path: url, detail: error.told)
    }
    return pool.history.takeBeginning()
  }
}
