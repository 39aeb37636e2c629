import PostgreSQLLink
import Synchronization

/// The database's clock: all servers on one database have the same time, whatever their own clocks say.
///
/// Between two readings, this computer's boot clock is used.
///
/// **Service time** never goes back: if the database's clock is set back, it stands still until the clock has caught
/// up. **The wall clock** follows each step, forward and back. Clients' time stamps are compared with it, so it must
/// recover at once after a wrong clock is corrected.
final class PostgreSQLTime: Sendable {
  /// The least step of the clock that is logged, in milliseconds.
  static let toldStep: Int64 = 2_000
  /// The most steps that are kept until they are logged.
  private static let greatestUntold = 8

  private struct State {
    /// How far this computer's clock is behind the database's, in milliseconds; nil if it was not measured yet.
    var ahead: Int64?
    var last: Int64 = .min
    var untoldSteps: [Int64] = []
  }

  private let state = Mutex(State())
  /// The boot clock in milliseconds, which cannot be set.
  private let sinceBoot: @Sendable () -> Int64

  init(sinceBoot: @escaping @Sendable () -> Int64 = MachineClocks.system.sinceBoot) { self.sinceBoot = sinceBoot }

  /// The clocks for ``StorageClock``. A database has no boot clock, only a wall clock.
  var clocks: MachineClocks {
    MachineClocks(
      bootID: { "postgresql" }, sinceBoot: { self.look().service },
      wall: { UnixTime(milliseconds: self.look().wall) },
      standstill: {
        let (service, wall) = self.look()
        return service - wall
      })
  }

  /// Both times of one moment, in Unix milliseconds.
  private func look() -> (service: Int64, wall: Int64) {
    let own = sinceBoot()
    return state.withLock { state in
      let wall = own + (state.ahead ?? 0)
      state.last = max(state.last, wall)
      return (state.last, wall)
    }
  }

  /// Reads the database's clock. A difference that the round trip explains is ignored.
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

  /// The steps of the clock to log, in milliseconds. Each is returned once.
  func takeSteps() -> [Int64] {
    state.withLock { state in
      defer { state.untoldSteps = [] }
      return state.untoldSteps
    }
  }
}

/// Gives the database's time.
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
