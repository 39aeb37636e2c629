import Synchronization

/// What the check of the whole database file has found since the start.
final class FileHealth: Sendable {
  enum State: Sendable {
    /// PostgreSQL has it.
    case elsewhere
    case unchecked
    case sound
    /// With what was found, in one line.
    case damaged(String)
  }

  private let current = Mutex(State.elsewhere)

  var state: State { current.withLock { $0 } }

  func become(_ state: State) { current.withLock { $0 = state } }
}
