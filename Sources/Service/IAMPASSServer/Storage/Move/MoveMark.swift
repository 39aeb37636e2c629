/// What a database says of a move between engines. Until it has arrived, its triggers refuse every change: also those of
/// a service that is running, and of older versions.
struct MoveMark: Equatable, Sendable {
  enum State: String, Sendable {
    /// Everything is here, and not yet given up there.
    case arriving
    /// Everything is there now.
    case moved
    /// Everything is here, and changes are taken: no refusal. A second run sees by it that nothing is left to be done.
    case arrived
  }

  /// Random, and the same in both databases.
  let id: String
  let state: State
  /// The other database: a directory, or an address without a password.
  let place: String

  /// What a service has to be told that begins on a database with this mark.
  func refusal(of path: String) -> StorageError? {
    switch state {
    case .arrived: nil
    case .moved: StorageError(.databaseMoved, path: path, detail: place)
    case .arriving: StorageError(.databaseArriving, path: path, detail: place)
    }
  }
}
