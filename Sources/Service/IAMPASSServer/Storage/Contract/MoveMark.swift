/// A database's note about a move between engines. Until the data has arrived, triggers refuse every change, even those
/// of a running service and of older versions.
struct MoveMark: Equatable, Sendable {
  enum State: String, Sendable {
    /// The data is here, but the source is not closed yet.
    case arriving
    /// The data was moved away.
    case moved
    /// The data is here, and changes are accepted. A second run sees by this that the move is complete.
    case arrived
  }

  /// The move's random id, which is the same in both databases.
  let id: String
  let state: State
  /// The other database: a folder, or an address without a password.
  let place: String

  /// The error for a service that starts on a database with this mark; nil if it may use it.
  func refusal(of path: String) -> StorageError? {
    switch state {
    case .arrived: nil
    case .moved: StorageError(.databaseMoved, path: path, detail: place)
    case .arriving: StorageError(.databaseArriving, path: path, detail: place)
    }
  }
}
