/// Why the data folder or the database cannot be used.
public struct StorageError: Error, Sendable {
  public enum Code: Sendable {
    case folderNotMade
    case folderWritableByOthers
    /// The folder does not belong to the user of this process.
    case folderOfAnother
    case databaseNotOpened
    /// The contents are not what SQLite has written.
    case databaseDamaged
    /// The database must already exist.
    case noDatabase
    case noRandomBytes
    /// A copy was restored, but the wall clock is before the time of the copy. `detail`: the copy's time.
    case clockBehindCopy
    /// PostgreSQL: the address is not valid. `detail` does not quote it.
    case addressInvalid
    /// PostgreSQL: the address has a password, which all users of the computer could read in the command's arguments.
    case passwordInAddress
    /// PostgreSQL: the server cannot be reached, or refuses the connection. `path`: its address.
    case databaseNotReached
    /// PostgreSQL: a pooler shares one session between several connections. `path`: its address.
    case databaseSessionsShared
    /// PostgreSQL: the database's encoding does not have every character. `path`: its address. `detail`: its encoding.
    case databaseEncoding
    /// A newer version has changed the tables. `detail`: the change.
    case databaseTooNew
    /// PostgreSQL: the role may not read the position of the write-ahead log. `path`: its address. `detail`: the
    /// refusal.
    case historyUnreadable
    /// The database must first be migrated by the service or `database migrate`.
    case databaseTooOld
    /// The database does not have the service's tables.
    case databaseForeign
    /// All data was moved away, so nothing may be changed here. `detail`: where it is now.
    case databaseMoved
    /// All data is being moved here, and the move is not complete. `detail`: from where.
    case databaseArriving
  }

  public let code: Code
  public let path: String
  /// The message of the system, SQLite or PostgreSQL.
  public let detail: String

  init(_ code: Code, path: String = "", detail: String = "") {
    self.code = code
    self.path = path
    self.detail = detail
  }
}
