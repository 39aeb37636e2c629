/// The version of a database's tables, as this program sees it.
///
/// Only the service and `database migrate` change a database's form. Other commands refuse a database that is not
/// `current`: a mistyped address must not get tables, and an administrator's program must not change the tables of
/// running servers.
enum SchemaState: Equatable, Sendable {
  /// The database does not have the service's tables: it is empty, or another program's.
  case foreign
  /// Changes that this program knows are missing.
  case older
  case current

  /// Why a command refuses the database; nil if it does not.
  func refusal(of path: String) -> StorageError? {
    switch self {
    case .foreign: StorageError(.databaseForeign, path: path)
    case .older: StorageError(.databaseTooOld, path: path)
    case .current: nil
    }
  }
}
