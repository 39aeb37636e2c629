import PostgreSQLLink
import Synchronization

/// The database's clock: all servers on one database have the same time, whatever their own clocks say.
///
/// Between two looks at it, time passes by the boot clock of this machine.
///
/// **Service time** never goes back: if the database's clock is set back, it stands still until the clock has come to it
/// again. **The wall clock** follows each step, forward and back: by it, clients' time stamps are judged, and a clock
/// that was wrong for a moment must not refuse them afterwards.
final class PostgreSQLTime: Sendable {
  /// Milliseconds from which on a step of the clock is told.
  static let toldStep: Int64 = 2_000
  /// Steps that are kept until they are told, at most.
  private static let greatestUntold = 8

  private struct State {
    /// What this machine's clock is behind the database's, in milliseconds; nil: not measured yet.
    var ahead: Int64?
    var last: Int64 = .min
    var untoldSteps: [Int64] = []
  }

  private let state = Mutex(State())
  /// Milliseconds that nobody can set.
  private let sinceBoot: @Sendable () -> Int64

  init(sinceBoot: @escaping @Sendable () -> Int64 = MachineClocks.system.sinceBoot) { self.sinceBoot = sinceBoot }

  /// For ``StorageClock``. The clock of a database has no boots: its wall clock is the only clock.
  var clocks: MachineClocks {
    MachineClocks(
      bootID: { "postgresql" }, sinceBoot: { self.look().service },
      wall: { UnixTime(milliseconds: self.look().wall) },
      standstill: {
        let (service, wall) = self.look()
        return service - wall
      })
  }

  /// Unix milliseconds, both of one moment.
  private func look() -> (service: Int64, wall: Int64) {
    let own = sinceBoot()
    return state.withLock { state in
      let wall = own + (state.ahead ?? 0)
      state.last = max(state.last, wall)
      return (state.last, wall)
    }
  }

  /// Looks at the database's clock. A difference that the way there and back explains is not followed.
  func measure(_ database: some DatabaseClock) throws {
    let before = sinceBoot()
    let time = try database.unixMilliseconds()
    let after = sinceBoot()
    let ahead = time - (before + after) / 2
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

  /// Milliseconds of each step of the clock that is worth a line in the log; each is said once.
  func takeSteps() -> [Int64] {
    state.withLock { state in
      defer { state.untoldSteps = [] }
      return state.untoldSteps
    }
  }
}

/// What says what time it is at the database.
protocol DatabaseClock {
  /// Unix milliseconds.
  func unixMilliseconds() throws -> Int64
}

extension PostgreSQLConnection: DatabaseClock {
  func unixMilliseconds() throws -> Int64 {
    let row = try ask([
      PostgreSQLCall("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time")
    ]).first?.first
    guard let time: Int64 = try row?.get("time") else { throw DamagedRow(column: "time") }
    return time
  }
}
