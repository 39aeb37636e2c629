import CommandSupport
import Testing

@testable import ServerCommands

struct PackagedDatabaseTests {
  /// As systemctl(1) of Debian 12 shows it.
  private static func shown(_ words: String, environment: String = "") -> String {
    """
    ExecStart={ path=/usr/bin/iampass-server ; argv[]=/usr/bin/iampass-server serve \(words) --listen ${LISTEN} $OPTIONS ; \
    ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }
    Environment=LISTEN=127.0.0.1:8443 \(environment)

    """
  }

  @Test func thePackagesUnitHasTheUsualFolder() throws {
    let found = try PackagedDatabase.of(Self.shown("--data /var/lib/iampass-server"))
    #expect(found == .folder(PackagedDatabase.usualFolder))
  }

  @Test(arguments: ["--data /srv/sign-in", "--data=/srv/sign-in"])
  func anAdministratorsUnitMayHaveAnother(words: String) throws {
    #expect(try PackagedDatabase.of(Self.shown(words)) == .folder("/srv/sign-in"))
  }

  @Test func postgreSQLIsFoundWithItsPasswordFile() throws {
    let url = "postgresql://iampass@db.example.org/iampass"
    let found = try PackagedDatabase.of(
      Self.shown("--database \(url)", environment: "PGPASSFILE=/etc/iampass-server/pgpass"))
    #expect(found == .postgreSQL(url: url, passwordFile: "/etc/iampass-server/pgpass"))
    #expect(try PackagedDatabase.of(Self.shown("--database=\(url)")) == .postgreSQL(url: url, passwordFile: nil))
  }

  @Test(arguments: ["--database ${DATABASE}", "--data $DATA"])
  func aVariableIsNotGuessed(words: String) {
    #expect(throws: CommandProblem.self) { try PackagedDatabase.of(Self.shown(words)) }
  }

  @Test func withoutTheUnitTheFolderAloneCounts() throws {
    #expect(try PackagedDatabase.of("Environment=\n") == .folder(PackagedDatabase.usualFolder))
  }
}
