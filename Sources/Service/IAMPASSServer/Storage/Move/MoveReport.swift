/// What a move did.
public struct MoveReport: Sendable {
  /// Where everything is now.
  public let place: String
  /// Nothing was copied: an earlier move had done that, and was broken off.
  public var isCompleted = false
  /// How many rows each table has.
  public var counts: [(table: String, count: Int)] = []
  /// For how long nobody could write.
  public var pause = Duration.zero
}

/// Why nothing was moved.
public struct MoveRefusal: Error, Sendable {
  /// What is in the way.
  public enum Code: Sendable {
    /// `subject`: where everything is now.
    case sourceMoved
    /// `subject`: from where.
    case sourceArriving
    /// `subject`: the destination.
    case destinationNotEmpty
    /// `subject`: where its data is now.
    case destinationMoved
    /// Another database is on its way there. `subject`: which one.
    case destinationArriving
    /// Only one of the two has a column: the other one is of another version. `subject`: which one.
    case formsDiffer
    /// Not one directory and one address of PostgreSQL.
    case sameEngine
    /// What was read back is not what was written. `subject`: the table.
    case differs
    /// Another program writes to it or moves it. `subject`: which database.
    case busy
  }

  /// What is in the way.
  public let code: Code
  /// See ``Code``.
  public let subject: String

  init(_ code: Code, _ subject: String = "") {
    self.code = code
    self.subject = subject
  }
}
