/// The result of a move.
public struct MoveReport: Sendable {
  /// Where the data is now.
  public let place: String
  /// Whether this only completed an earlier move, which had copied the data and was interrupted.
  public var isCompleted = false
  /// The number of rows of each table.
  public var counts: [(table: String, count: Int)] = []
  /// How long writers were blocked.
  public var pause = Duration.zero
}

/// Why nothing was moved.
public struct MoveRefusal: Error, Sendable {
  /// The reason.
  public enum Code: Sendable {
    /// The source's data was moved away. `subject`: where it is now.
    case sourceMoved
    /// The source is the destination of another move. `subject`: from where.
    case sourceArriving
    /// The destination has data. `subject`: the destination.
    case destinationNotEmpty
    /// The destination's data was moved away. `subject`: where it is now.
    case destinationMoved
    /// Another database is being moved there. `subject`: which one.
    case destinationArriving
    /// A column exists in only one of the two, because the other has another version. `subject`: which column.
    case formsDiffer
    /// The two are not one folder and one PostgreSQL address.
    case sameEngine
    /// A row that was read back differs from what was written. `subject`: the table.
    case differs
    /// Another program writes to it or moves it. `subject`: which database.
    case busy
  }

  /// The reason.
  public let code: Code
  /// See ``Code``.
  public let subject: String

  init(_ code: Code, _ subject: String = "") {
    self.code = code
    self.subject = subject
  }
}
