/// Why the data directory cannot be used.
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
  }

  public let code: Code
  public let path: String
  /// What the system or SQLite said.
  public let detail: String

  init(_ code: Code, path: String = "", detail: String = "") {
    self.code = code
    self.path = path
    self.detail = detail
  }
}
