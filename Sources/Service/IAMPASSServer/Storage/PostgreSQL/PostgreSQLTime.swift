import PostgreSQLLink
import Synchronization

/// The database's clock: all servers on one database have the same time, whatever their own clocks say.
///
/// Between two readings, this computer's boot clock is used.
///
/// **The wall clock** follows each step, forward and back. Clients' time stamps are compared with it, so it must recover
/// at once after a wrong clock is corrected. ``StorageClock`` makes **service time** of it, with an anchor in the database.
/// Clock and anchor are read together: each alone could be from before a failover, and the other from after it.
final class PostgreSQLTime: Sendable {
  /// The least step of the clock, and the least correction, that is logged, in milliseconds.
  static let toldStep: Int64 = 2_000
  /// The most steps, and corrections, that are kept until they are logged.
  private static let greatestUntold = 8

  private struct State {
    /// How far this computer's clock is behind the database's, in milliseconds; nil if it was not measured yet.
    var ahead: Int64?
    var untoldSteps: [Int64] = []
    var untoldCorrections: [Int64] = []
    /// It has ``PostgreSQLTime/clocks``. Nil: the anchor is not read yet.
    weak var clock: StorageClock?
  }

  private let state = Mutex(State())
  /// The boot clock in milliseconds, which cannot be set.
  private let sinceBoot: @Sendable () -> Int64

  init(sinceBoot: @escaping @Sendable () -> Int64 = MachineClocks.system.sinceBoot) { self.sinceBoot = sinceBoot }

  /// The clocks for ``StorageClock``. A database has no boot clock, only a wall clock.
  var clocks: MachineClocks {
    MachineClocks(
      bootID: { "postgresql" }, sinceBoot: { self.wall() }, wall: { UnixTime(milliseconds: self.wall()) },
      mayStep: true)
  }

  /// In Unix milliseconds.
  private func wall() -> Int64 {
    let own = sinceBoot()
    return state.withLock { own + ($0.ahead ?? 0) }
  }

  /// Reads the anchor for `clock` with each measurement from now on.
  func follow(for clock: StorageClock) { state.withLock { $0.clock = clock } }

  /// Reads the database's clock.
  func measure(_ database: some DatabaseClock) throws {
    guard let clock = state.withLock(\.clock) else {
      return note(try read { DatabaseTime(unixMilliseconds: try database.unixMilliseconds()) })
    }
    let reading = try read(database.time)
    clock.follow(reading.time.anchor) { note(reading) }
  }

  /// Stores the anchor of `clock`.
  ///
  /// - Parameter db: a write, which comes in its turn.
  /// - Returns: what ``noteStored(_:by:)`` takes once it is committed.
  func keep(_ clock: StorageClock, in db: PostgreSQLTransaction) throws -> StorageClock.Kept {
    // This read waits for the write lock. It comes first, so that the wait does not count as the clock's round trip.
    _ = try StorageClock.stored(in: db)
    let kept = try anchor(of: clock, over: db)
    try kept.anchor.store(in: db)
    return kept
  }

  /// See ``StorageClock/keep(over:settingClocks:)``.
  func anchor(of clock: StorageClock, over database: some DatabaseClock) throws -> StorageClock.Kept {
    let reading = try read(database.time)
    return clock.keep(over: reading.time.anchor) { note(reading) }
  }

  func noteStored(_ kept: StorageClock.Kept, by clock: StorageClock) {
    clock.noteStored(kept)
    guard kept.correction.magnitude >= Self.toldStep.magnitude else { return }
    state.withLock { state in
      guard state.untoldCorrections.count < Self.greatestUntold else { return }
      state.untoldCorrections.append(kept.correction)
    }
  }

  /// Stores another anchor if the last measurement says that service time needs it. If that fails, the next call tries
  /// again.
  func mend(by pool: PostgreSQLPool) {
    guard let clock = state.withLock(\.clock), clock.isAstray else { return }
    let written = try? pool.write(at: clock.now(), waitsForDisk: false) { try keep(clock, in: $0) }
    if let written { noteStored(written.value, by: clock) }
  }

  private struct Reading {
    let time: DatabaseTime
    /// The boot clock before and after it.
    let before: Int64
    let after: Int64
  }

  private func read(_ ask: () throws -> DatabaseTime) rethrows -> Reading {
    let before = sinceBoot()
    let time = try ask()
    return Reading(time: time, before: before, after: sinceBoot())
  }

  /// Sets the wall clock. A difference that the round trip explains is ignored.
  private func note(_ reading: Reading) {
    let (before, after) = (reading.before, reading.after)
    let ahead = reading.time.unixMilliseconds - (before + after) / 2
    state.withLock { state in
      guard let known = state.ahead else {
        state.ahead = ahead
        return
      }
      guard (ahead - known).magnitude > (after - before).magnitude + 1 else { return }
      state.ahead = ahead
      guard (ahead - known).magnitude >= Self.toldStep.magnitude, state.untoldSteps.count < Self.greatestUntold
      else { return }
      state.untoldSteps.append(ahead - known)
    }
  }

  /// The steps of the clock to log, in milliseconds. Each is returned once.
  func takeSteps() -> [Int64] {
    state.withLock { state in
      defer { state.untoldSteps = [] }
      return state.untoldSteps
    }
  }

  /// The corrections of service time to log, in milliseconds. Each is returned once.
  func takeCorrections() -> [Int64] {
    state.withLock { state in
      defer { state.untoldCorrections = [] }
      return state.untoldCorrections
    }
  }
}

/// Gives the database's time.
protocol DatabaseClock {
  /// Unix milliseconds.
  func unixMilliseconds() throws -> Int64
  /// The clock and the anchor at one moment.
  func time() throws -> DatabaseTime
}

/// The database's clock, and its anchor of service time.
struct DatabaseTime {
  let unixMilliseconds: Int64
  /// Nil: not asked for, or the database has none.
  var anchor: StorageClock.Anchor?
}

extension PostgreSQLTransaction: DatabaseClock {
  func unixMilliseconds() throws -> Int64 { try time().unixMilliseconds }

  func time() throws -> DatabaseTime {
    let row = try first(
      """
      SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock,
        boot_id, since_boot, time, unix_time, is_settled
      FROM (VALUES (1)) AS one LEFT JOIN service_clock ON true
      """)
    guard let row else { throw DamagedRow(column: "clock") }
    let hasAnchor = try (row.get("since_boot") as Int64?) != nil
    return DatabaseTime(unixMilliseconds: try row.get("clock"), anchor: hasAnchor ? try StorageClock.Anchor(row) : nil)
  }
}

extension PostgreSQLConnection: DatabaseClock {
  func unixMilliseconds() throws -> Int64 {
    let row = try ask([
      PostgreSQLCall("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time")
    ]).first?.first
    guard let time: Int64 = try row?.get("time") else { throw DamagedRow(column: "time") }
    return time
  }

  func time() throws -> DatabaseTime { try PostgreSQLTransaction(self).time() }
}
