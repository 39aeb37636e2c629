import IAMPASSProtocol
import Logging
import Synchronization

/// The kinds of failures of the storage, by what an operator can do.
enum StorageTrouble: Sendable, Equatable {
  case full
  case locked
  case damaged
  /// The database cannot be reached; only PostgreSQL.
  case unreachable
  /// An operation waited too long for its turn.
  case busy
  /// `iampass-server database move` has moved all data away.
  case moved
  /// A sealed secret cannot be used.
  case sealed(SealFault)
  case other

  var hint: String {
    switch self {
    case .full: "make room on the disk of the data directory"
    case .locked: "look for another program that holds the database"
    case .damaged: "stop the service, and put the last backup in the database's place"
    case .unreachable: "look at the PostgreSQL server, and at the network on the way to it"
    case .busy: "look at the load of the disk or the PostgreSQL server, and for what holds the database for long"
    case .moved: "start the service on the new database; iampass-server database check says where it is"
    case .sealed(let fault): fault.hint
    case .other: "look at the data directory and its disk"
    }
  }
}

/// An operation waited too long for its turn, and was not begun.
struct StorageBusy: Error, CustomStringConvertible {
  /// How many seconds later the client should ask again.
  static let pause: Int64 = 2

  var description: String { "the database is slower than what is asked of it" }
}

/// Keeps the log readable while the storage does not work and each request fails.
final class StorageAlarm: Sendable {
  /// How long a lasting failure is not logged again, in seconds.
  private static let interval: Int64 = 60

  private struct State {
    var loggedAt: UnixTime?
    var unlogged = 0
    /// Whether a failure was logged, and no change was stored since.
    var isOn = false
    var isOver = false
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Notes a failure.
  ///
  /// - Returns: the number of failures since one was logged, including this one; nil if one was just logged, or if the
  ///   storage was closed.
  func failed(_ trouble: StorageTrouble, at now: UnixTime) -> Int? {
    state.withLock { state in
      if state.isClosed { return nil }
      state.unlogged += 1
      if let loggedAt = state.loggedAt, now < loggedAt.advanced(seconds: Self.interval) { return nil }
      defer { state.unlogged = 0 }
      state.loggedAt = now
      // Damage stays, although other parts of the file still work.
      if case .sealed = trouble { state.isOn = false } else { state.isOn = trouble != .damaged }
      return state.unlogged
    }
  }

  /// Notes that the service closes the storage, because it ends. Work that still waits then fails, and that is not a
  /// failure of the storage.
  func close() { state.withLock { $0.isClosed = true } }

  /// Notes a stored change.
  func wrote() {
    state.withLock { state in
      guard state.isOn else { return }
      state.isOn = false
      state.isOver = true
    }
  }

  /// Whether the storage works again. It is true only once for each failure.
  func takeEnd() -> Bool {
    state.withLock { state in
      defer { state.isOver = false }
      return state.isOver
    }
  }
}
