import Glibc
import PostgreSQLLink

/// A PostgreSQL server of Debian's package for this run of the tests. It has a Unix socket only, and ends with the run.
final class LocalPostgreSQL: Sendable {
  struct NotStarted: Error {}

  static let shared = Result { try LocalPostgreSQL() }

  let folder: String

  private init() throws {
    var template = Array("/tmp/iampass-postgresql.XXXXXX\0".utf8CString)
    guard let made = mkdtemp(&template) else { throw NotStarted() }
    folder = String(cString: made)
    // PostgreSQL refuses to run as root.
    let prelude = """
      set -e; cd \(folder)
      bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
      as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
      """
    let start = """
      \(prelude)
      if [ "$(id -u)" = 0 ]; then chown postgres: .; fi
      as "$bin/initdb" -D data -U iampass --auth=trust --no-sync --no-locale -E UTF8 >log 2>&1
      as "$bin/pg_ctl" -D data -w -l data/log -o "-c listen_addresses= -c unix_socket_directories=\(folder)" start >>log
      """
    guard system(start) == 0 else { throw NotStarted() }
    // Reads until this process has ended, however it ends.
    let keeper = """
      \(prelude)
      trap '' INT TERM; cat >/dev/null
      as "$bin/pg_ctl" -D data -m immediate stop >/dev/null; rm -rf \(folder)
      """
    guard popen(keeper, "we") != nil else { throw NotStarted() }
  }

  static func connection() throws -> PostgreSQLConnection {
    let folder = try shared.get().folder
    return try PostgreSQLConnection(
      to: PostgreSQLAddress(validating: "postgresql:///postgres?user=iampass&host=\(folder)"))
  }
}
