import Glibc
import PostgreSQLLink
import Synchronization

/// A PostgreSQL server of Debian's package for this run of the tests. It has a Unix socket only, and ends with the run.
/// The variable `IAMPASS_POSTGRESQL_ROOT` names a folder that has another version.
public final class LocalPostgreSQL: Sendable {
  /// The server did not start: its package is missing, or its log says why.
  public struct NotStarted: Error {}

  private static let shared = Result { try LocalPostgreSQL() }

  /// What was made in the server.
  private struct Made {
    /// The addresses of schemas.
    var urls: [String: String] = [:]
    var hasModel = false
  }

  private static let made = Mutex(Made())

  private let folder: String

  private init() throws {
    // Its own keeper stops the server first.
    var template = Array("\(TestFolder.base)/iampass-postgresql.XXXXXX\0".utf8CString)
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
      full_page_writes = off
      max_wal_size = 256MB
      # It would look at each of hundreds of databases.
      autovacuum = off
      END
      as pg_ctl -D \(folder)/data -w -l \(folder)/data/log start >>log
      """
    guard system(start) == 0 else { throw NotStarted() }
    // Reads until this process has ended, however it ends: what ends its whole session leaves the keeper.
    let keeper = """
      \(prelude)
      trap "" HUP INT TERM; cat >/dev/null
      as pg_ctl -D \(folder)/data -m immediate stop >/dev/null || :
      cd /; rm -rf \(folder)
      """
    guard popen("exec setsid sh -c '\(keeper)'", "we") != nil else { throw NotStarted() }
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
    guard let schema else { return try address(of: "postgres") }
    return try made.withLock { made in
      if let url = made.urls[schema] { return url }
      try connection().run([
        setting(schema),
        PostgreSQLCall(
          """
          DO $$ BEGIN EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', current_setting('iampass.schema')); END $$
          """),
      ])
      let url = try address(of: "postgres", schema)
      made.urls[schema] = url
      return url
    }
  }

  /// The same for a schema that begins with tables. It is in a copy of a database, which takes a quarter of what making
  /// the tables does, and has no other connection look up its own tables again.
  ///
  /// - Parameters:
  ///   - schema: as for ``url(schema:)``. One that is there stays as it is.
  ///   - fill: makes the tables in the database that is copied. Only the first one is called, so all must do the same.
  public static func url(schema: String, filledBy fill: (PostgreSQLConnection) throws -> Void) throws -> String {
    try made.withLock { made in
      if let url = made.urls[schema] { return url }
      let usual = try patientConnection(to: address(of: "postgres"))
      usual.patience = .seconds(600)
      try usual.run([PostgreSQLCall("SET statement_timeout = 0")])
      if !made.hasModel {
        // What an earlier try has left, as in the copy's place.
        try usual.run(script: "DROP DATABASE IF EXISTS model WITH (FORCE)")
        try usual.run(script: "CREATE DATABASE model")
        let model = try patientConnection(to: address(of: "model", "model"))
        try model.run([PostgreSQLCall("CREATE SCHEMA model")])
        try fill(model)
        // A database is copied while nobody is connected to it.
        model.close()
        made.hasModel = true
      }
      // Copies of files, which take half of what the pages' way through the log does. A copy gets its name afterwards: no
      // function may run CREATE DATABASE, and a script has no parameters.
      try usual.run(script: "DROP DATABASE IF EXISTS copied WITH (FORCE)")
      try usual.run(script: "CREATE DATABASE copied TEMPLATE model STRATEGY FILE_COPY")
      try usual.run([
        setting(schema),
        PostgreSQLCall(
          "DO $$ BEGIN EXECUTE format('ALTER DATABASE copied RENAME TO %I', current_setting('iampass.schema')); END $$"),
      ])
      let url = try address(of: schema, schema)
      try patientConnection(to: url).run([
        setting(schema),
        PostgreSQLCall(
          "DO $$ BEGIN EXECUTE format('ALTER SCHEMA model RENAME TO %I', current_setting('iampass.schema')); END $$"),
      ])
      made.urls[schema] = url
      return url
    }
  }

  /// Many tests begin at once, on a machine that may be slow.
  private static func patientConnection(to url: String) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: url), within: .seconds(600))
  }

  /// Tells a schema's name to the statements after it.
  private static func setting(_ schema: String) -> PostgreSQLCall {
    PostgreSQLCall("SELECT set_config('iampass.schema', $1, false)", .text(schema))
  }

  private static func address(of database: String, _ schema: String? = nil) throws -> String {
    let url = "postgresql:///\(database)?user=iampass&host=\(try shared.get().folder)"
    return schema.map { url + "&application_name=\($0)&options=-c%20search_path%3D\($0)" } ?? url
  }
}
