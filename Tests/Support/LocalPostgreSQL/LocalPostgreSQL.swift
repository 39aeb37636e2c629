import Glibc
import PostgreSQLLink

/// A PostgreSQL server of Debian's package for this run of the tests. It has a Unix socket only, and ends with the run.
/// The variable `IAMPASS_POSTGRESQL_ROOT` names a folder that has another version.
public final class LocalPostgreSQL: Sendable {
  /// The server did not start: its package is missing, or its log says why.
  public struct NotStarted: Error {}

  private static let shared = Result { try LocalPostgreSQL() }

  private let folder: String

  private init() throws {
    var template = Array("/tmp/iampass-postgresql.XXXXXX\0".utf8CString)
    guard let made = mkdtemp(&template) else { throw NotStarted() }
    folder = String(cString: made)
    let scripts = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let prelude = """
      set -e; cd \(folder)
      as() { "/\(scripts)/as-postgres" "\(folder)" "$@"; }
      """
    let start = """
      \(prelude)
      as --own .
      as initdb -D \(folder)/data -U iampass --auth=trust --no-sync --no-locale -E UTF8 >log 2>&1
      cat >>data/postgresql.conf <<END
      listen_addresses = ''
      unix_socket_directories = '\(folder)'
      max_connections = 1500
      fsync = off
      END
      as pg_ctl -D \(folder)/data -w -l \(folder)/data/log start >>log
      """
    guard system(start) == 0 else { throw NotStarted() }
    // Reads until this process has ended, however it ends.
    let keeper = """
      \(prelude)
      trap '' INT TERM; cat >/dev/null
      as pg_ctl -D \(folder)/data -m immediate stop >/dev/null; rm -rf \(folder)
      """
    guard popen(keeper, "we") != nil else { throw NotStarted() }
  }

  /// A connection to the server's usual database.
  public static func connection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: url()))
  }

  /// Connections to a schema have its name as their `application_name`.
  ///
  /// - Parameter schema: takes the place of a database of its own, and is made if it is missing; nil: the usual one.
  ///   Letters, digits and underlines.
  public static func url(schema: String? = nil) throws -> String {
    let url = "postgresql:///postgres?user=iampass&host=\(try shared.get().folder)"
    guard let schema else { return url }
    try connection().run([
      PostgreSQLCall("SELECT set_config('iampass.schema', $1, false)", .text(schema)),
      PostgreSQLCall(
        """
        DO $$ BEGIN EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', current_setting('iampass.schema')); END $$
        """),
    ])
    return url + "&application_name=\(schema)&options=-c%20search_path%3D\(schema)"
  }
}
