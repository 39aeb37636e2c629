import PostgreSQLLink
import Synchronization

/// The database's clock: all servers on one database have the same time, whatever their own clocks say.
///
/// Between two looks at it, time passes by the boot clock of this machine. Time never goes back: if the database's clock
/// is set back, it stands still until the clock has come to it again.
final class PostgreSQLTime: Sendable {
  private struct State {
    /// What this machine's clock is behind the database's, in milliseconds.
    var ahead: Int64 = 0
    var last: Int64 = .min
  }

  private let state = Mutex(State())
  /// Milliseconds that nobody can set.
  private let sinceBoot: @Sendable () -> Int64

  init(sinceBoot: @escaping @Sendable () -> Int64 = MachineClocks.system.sinceBoot) { self.sinceBoot = sinceBoot }

  /// For ``StorageClock``. The clock of a database has no boots: its wall clock is the only clock.
  var clocks: MachineClocks {
    MachineClocks(bootID: { "postgresql" }, sinceBoot: { self.now }, wall: { UnixTime(milliseconds: self.now) })
  }

  /// Unix milliseconds.
  private var now: Int64 {
    let own = sinceBoot()
    return state.withLock { state in
      state.last = max(state.last, own + state.ahead)
      return state.last
    }
  }

  /// Looks at the database's clock. A difference that the way there and back explains is not followed.
  func measure(_ connection: PostgreSQLConnection) throws {
    let before = sinceBoot()
    let row = try connection.ask([
      PostgreSQLCall("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time")
    ]).first?.first
    guard let time: Int64 = try row?.get("time") else { throw DamagedRow(column: "time") }
    let after = sinceBoot()
    let ahead = time - (before + after) / 2
    state.withLock { state in
      if (ahead - state.ahead).magnitude > (after - before).magnitude + 1 { state.ahead = ahead }
    }
  }
}
