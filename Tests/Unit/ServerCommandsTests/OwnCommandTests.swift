import CommandSupport
import Testing

@testable import ServerCommands

/// What a part of a command that is a process of its own finds in its environment.
struct OwnCommandTests {
  private static let ours = [
    "PGPASSFILE": "/etc/iampass-server/pgpass", "PGSERVICEFILE": "/etc/iampass-server/pg_service.conf",
    "PGSYSCONFDIR": "/etc/iampass-server", "PGPASSWORD": "secret", "PGHOST": "elsewhere", "LD_PRELOAD": "/tmp/own.so",
  ]

  @Test func itHasTheFilesThatLibpqReadsAndNothingElse() throws {
    let variables = OwnCommand.variables { Self.ours[$0] }
    #expect(
      variables == [
        "PGPASSFILE=/etc/iampass-server/pgpass", "PGSERVICEFILE=/etc/iampass-server/pg_service.conf",
        "PGSYSCONFDIR=/etc/iampass-server",
      ])
    let usual = try #require(Program.run(["/usr/bin/env"])).output.split(separator: "\n").map(String.init)
    let given = try #require(Program.run(["/usr/bin/env"], variables: variables))
    #expect(given.output.split(separator: "\n").map(String.init) == usual + variables)
  }

  @Test func whatIsNotSetStaysUnset() {
    #expect(OwnCommand.variables { _ in nil } == [])
    #expect(OwnCommand.variables { $0 == "PGPASSFILE" ? "" : nil } == ["PGPASSFILE="])
  }
}
