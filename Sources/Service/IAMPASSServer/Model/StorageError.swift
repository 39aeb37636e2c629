/// Why the data directory or the database cannot be used.
public struct StorageError: Error, Sendable {
  public enum Code: Sendable {
    case folderNotMade
    case folderWritableByOthers
    case databaseNotOpened
    /// What is in it is not what SQLite wrote.
    case databaseDamaged
    /// There must be one already.
    case noDatabase
    case noRandomBytes
    /// A copy was put back, and the wall clock says a time before the copy was made. `detail`: the copy's time.
    case clockBehindCopy
    /// PostgreSQL: the address cannot be used. `detail` does not quote it.
    case addressInvalid
    /// PostgreSQL: the address has a password, which everyone on the machine could read in the command's arguments.
    case passwordInAddress
    /// PostgreSQL: the server cannot be reached, or refuses. `path`: its address.
    case databaseNotReached
    /// PostgreSQL: a pooler lends one session to several connections. `path`: its address.
    case databaseSessionsShared
    /// PostgreSQL: it cannot hold every character. `path`: its address. `detail`: its encoding.
    case databaseEncoding
    /// A newer version changed the tables. `detail`: the change.
    case databaseTooNew
    /// PostgreSQL: the role may not see where the history is written. `path`: its address. `detail`: the refusal.
    case historyUnreadable
    /// The service, or `database migrate`, has to bring it up to date first.
    case databaseTooOld
    /// It has no tables of the service.
    case databaseForeign
    /// Everything was moved away: nothing may be changed here. `detail`: where it is.
    case databaseMoved
    /// Everything is on its way here, and the move was not completed. `detail`: from where.
    case databaseArriving
  }

  public let code: Code
  public let path: String
  /// What the system, SQLite or PostgreSQL said.
  public let detail: String

  init(_ code: Code, path: String = "", detail: String = "") {
    self.code = code
    self.path = path
    self.detail = detail
  }
}
