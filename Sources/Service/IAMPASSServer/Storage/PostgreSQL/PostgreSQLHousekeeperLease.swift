import IAMPASSProtocol
import PostgreSQLLink
import Synchronization

/// Decides which of several servers does the housekeeping: the one that a row names.
///
/// A server takes the row if it has an advisory lock, which ends with the connection of a server that is killed. It
/// also takes the row if it was not renewed for a minute: a stopped process keeps its connection and its lock. When
/// that process goes on, its transactions find another server's name, and change nothing.
///
/// The row is renewed by the thread that listens, which goes on if the housekeeping itself hangs or always fails. A
/// server whose housekeeping gets nowhere frees the lock, and leaves the row to others for a minute.
final class PostgreSQLHousekeeperLease: Sendable {
  /// The age in milliseconds from which any server may take a row.
  private static let patience: Int64 = 60_000
  /// The longest time without a transaction of the housekeeping that ends well. A round has many, and begins each 20 s.
  static let longestStall = Duration.seconds(300)
  /// How long a server then leaves the row to others, which take it within seconds.
  static let rest = Duration.seconds(60)

  private struct State {
    /// When a transaction of the housekeeping last ended well, or when this server took the row; nil: another one has it.
    var progress: ContinuousClock.Instant?
    var restsUntil: ContinuousClock.Instant?
    var hasStalled = false

    mutating func rests(at now: ContinuousClock.Instant) -> Bool {
      if let restsUntil, now < restsUntil { return true }
      restsUntil = nil
      guard let progress, progress.duration(to: now) > PostgreSQLHousekeeperLease.longestStall
      else { return false }
      (self.progress, restsUntil, hasStalled) = (nil, now + PostgreSQLHousekeeperLease.rest, true)
      return true
    }
  }

  /// This server's name among those on the database.
  private let server: String
  private let state = Mutex(State())

  init() throws { server = try RandomValue.identifier() }

  /// When a transaction of the housekeeping last ended well; nil while another server does it.
  var progress: ContinuousClock.Instant? { state.withLock(\.progress) }

  /// Notes that a transaction of the housekeeping has ended well.
  func noteProgress(at now: ContinuousClock.Instant = .now) {
    state.withLock { if $0.progress != nil { $0.progress = now } }
  }

  /// Whether this server has left the housekeeping to others since the last call.
  func takeStall() -> Bool {
    state.withLock { state in
      defer { state.hasStalled = false }
      return state.hasStalled
    }
  }

  /// Whether this server does the housekeeping. Call it each second, because it renews the row.
  ///
  /// - Parameter hasLock: whether `connection` has the lock, which it holds until it ends, or until it is freed here.
  func renewOrTake(
    by connection: PostgreSQLConnection, hasLock: inout Bool, at now: ContinuousClock.Instant = .now
  ) throws -> Bool {
    if state.withLock({ $0.rests(at: now) }) {
      if hasLock { try Self.freeLock(connection) }
      hasLock = false
      return false
    }
    let holds = try renewOrTakeRow(by: connection, hasLock: &hasLock)
    state.withLock { $0.progress = holds ? $0.progress ?? now : nil }
    return holds
  }

  private func renewOrTakeRow(by connection: PostgreSQLConnection, hasLock: inout Bool) throws -> Bool {
    if !hasLock { hasLock = try Self.takesLock(connection) }
    let now = try connection.unixMilliseconds()
    if try renews(by: connection, at: now) { return true }
    if !hasLock, try Self.isRenewed(by: connection, at: now) { return false }
    return try takes(by: connection, at: now, hasLock: hasLock)
  }

  /// Keeps another server from taking over until the transaction is over.
  ///
  /// - Throws: ``HousekeeperLeaseLost``.
  func check(in db: PostgreSQLTransaction) throws {
    guard try db.has("SELECT 1 FROM housekeeper WHERE server = $1 FOR KEY SHARE", server) else {
      throw HousekeeperLeaseLost()
    }
  }

  /// Tries to take the lock. The server checks silent connections, and frees their locks: see PostgreSQLBounds.
  private static func takesLock(_ connection: PostgreSQLConnection) throws -> Bool {
    let take = PostgreSQLCall(
      "SELECT pg_try_advisory_lock(hashtextextended('iampass_house_' || current_schema(), 0))::int::int8 AS taken")
    let row = try connection.ask([take])[0].first
    guard let taken: Int64 = try row?.get("taken") else { throw DamagedRow(column: "taken") }
    return taken == 1
  }

  private static func freeLock(_ connection: PostgreSQLConnection) throws {
    let free = PostgreSQLCall(
      "SELECT pg_advisory_unlock(hashtextextended('iampass_house_' || current_schema(), 0))::int::int8 AS freed")
    _ = try connection.ask([free])
  }

  private func renews(by connection: PostgreSQLConnection, at now: Int64) throws -> Bool {
    let renew = PostgreSQLCall(
      "UPDATE housekeeper SET renewed_at = $2 WHERE server = $1 RETURNING id", .text(server), .integer(now))
    return try !connection.run([renew])[0].isEmpty
  }

  /// Whether the row was recently renewed. A row from the future is by a wrong clock, and does not count.
  private static func isRenewed(by connection: PostgreSQLConnection, at now: Int64) throws -> Bool {
    let look = PostgreSQLCall(
      "SELECT 1::int8 FROM housekeeper WHERE abs($1 - renewed_at) <= $2", .integer(now), .integer(patience))
    return try !connection.ask([look])[0].isEmpty
  }

  private func takes(by connection: PostgreSQLConnection, at now: Int64, hasLock: Bool) throws -> Bool {
    let take = PostgreSQLCall(
      """
      INSERT INTO housekeeper (id, server, renewed_at) VALUES (1, $1, $2)
      ON CONFLICT (id) DO UPDATE SET server = excluded.server, renewed_at = excluded.renewed_at
        WHERE $3 <> 0 OR abs($2 - housekeeper.renewed_at) > $4
      RETURNING id
      """, .text(server), .integer(now), .integer(hasLock ? 1 : 0), .integer(Self.patience))
    return try !connection.run([take])[0].isEmpty
  }
}
