import IAMPASSProtocol
import Logging
import Synchronization

/// What kind of failure of the storage it is, as far as that says what to do.
enum StorageTrouble: Sendable {
  case full
  case locked
  case damaged
  /// PostgreSQL alone.
  case unreachable
  /// PostgreSQL alone: what was asked waited too long for its turn.
  case busy
  /// `iampass-server database move` took everything away.
  case moved
  case other

  var hint: String {
    switch self {
    case .full: "make room on the disk of the data directory"
    case .locked: "look for another program that holds the database"
    case .damaged: "stop the service, and put the last backup in the database's place"
    case .unreachable: "look at the PostgreSQL server, and at the network on the way to it"
    case .busy: "look whether the PostgreSQL server answers, at its load, and for transactions that take long"
    case .moved: "start the service on the new database; iampass-server database check says where it is"
    case .other: "look at the data directory and its disk"
    }
  }
}

/// What was asked of the storage waited too long for its turn, and was not begun.
struct StorageBusy: Error, CustomStringConvertible {
  /// Seconds after which the client asks again.
  static let pause: Int64 = 2

  var description: String { "the database is slower than what is asked of it" }
}

/// Keeps the log readable while the storage does not work: each request fails then.
final class StorageAlarm: Sendable {
  /// Seconds after which a failure that goes on is told again.
  private static let interval: Int64 = 60

  private struct State {
    var toldAt: UnixTime?
    var untold = 0
    /// Told, and no change stored since.
    var isOn = false
    var isOver = false
  }

  private let state = Mutex(State())

  /// Notes a failure.
  ///
  /// - Returns: how many there were since one was told, this one included; nil where one was told just now.
  func failed(_ trouble: StorageTrouble, at now: UnixTime) -> Int? {
    state.withLock { state in
      state.untold += 1
      if let toldAt = state.toldAt, now < toldAt.advanced(seconds: Self.interval) { return nil }
      defer { state.untold = 0 }
      state.toldAt = now
      // A damage does not go away by itself: elsewhere in the file much works.
      state.isOn = trouble != .damaged
      return state.untold
    }
  }

  /// Notes a change that is stored.
  func wrote() {
    state.withLock { state in
      guard state.isOn else { return }
      state.isOn = false
      state.isOver = true
    }
  }

  /// Whether the storage works again, said once.
  func takeEnd() -> Bool {
    state.withLock { state in
      defer { state.isOver = false }
      return state.isOver
    }
  }
}
