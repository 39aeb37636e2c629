import Synchronization

/// The result of the check of the whole database file since the start.
final class FileHealth: Sendable {
  enum State: Sendable {
    /// The data is in PostgreSQL.
    case elsewhere
    case unchecked
    case sound
    /// The file is damaged. Has the finding in one line.
    case damaged(String)
  }

  private let current = Mutex(State.elsewhere)

  var state: State { current.withLock { $0 } }

  func become(_ state: State) { current.withLock { $0 = state } }
}
