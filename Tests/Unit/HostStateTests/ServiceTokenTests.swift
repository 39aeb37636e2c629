import HostState
import HostSystem
import IAMPASSProtocol
import Testing

/// The module's token for a user of the service's list.
@Suite struct ServiceTokenTests {
  private let folder: String
  private let user: SystemUser

  init() throws {
    folder = "/tmp/iampass-service-token-" + (try #require(Digest.randomIdentifier()))
    _ = try RunFolder(path: folder).folder("service")
    let name = try #require(UnixUsername(validating: "daemon"))
    user = try #require(try SystemUser.find(named: name))
    let settings = "server = https://h\nusers = service\nusers_from_service = 1-59999\nstate_dir = \(folder)\n"
    try AtomicFile.write(Array(settings.utf8), to: folder + "/iampass.conf", mode: 0o644)
    let credentials = "application_id = own\napplication_secret = abcdefghijklmnopqrstuvwx\n"
    try AtomicFile.write(Array(credentials.utf8), to: folder + "/credentials", mode: 0o600)
  }

  private func token(_ list: String) throws -> Secret? {
    try AtomicFile.write(Array(list.utf8), to: folder + "/service/users", mode: 0o600)
    return try HostSetup(path: folder + "/iampass.conf").token(of: user.name, known: user)
  }

  @Test func itsOwnCredentialsListCounts() throws {
    #expect(try HostSetup(path: folder + "/iampass.conf").token(of: user.name, known: user) == nil)
    #expect(try token("# iampass users for=own epoch=1 version=2\nalice:a\ndaemon:t\n") == Secret("t"))
    #expect(try token("# iampass users for=own epoch=1 version=2\nalice:a\n") == nil)
  }

  @Test func anotherCredentialsListDoesNotCount() throws {
    for other in ["other", "ow", "owner", "OWN"] {
      #expect(try token("# iampass users for=\(other) epoch=1 version=2\ndaemon:t\n") == nil)
    }
  }

  @Test(arguments: [
    "", "daemon:t\n", "\n# iampass users for=own epoch=1 version=2\ndaemon:t\n", "# for=own\ndaemon:t\n",
    "# iampass users for=own epoch=1\ndaemon:t\n", "# iampass users for=own epoch=1 version=2 more\ndaemon:t\n",
  ])
  func aListThatDoesNotSayForWhomIsRefused(_ list: String) {
    #expect(throws: Misconfiguration.users(.notSaidForWhom, path: folder + "/service/users")) { try token(list) }
  }

  @Test func aDamagedListIsRefused() {
    let list = "# iampass users for=own epoch=1 version=2\ndaemon:t\ndaemon:u\n"
    #expect(throws: Misconfiguration.users(.userNamedTwice(line: 3), path: folder + "/service/users")) {
      try token(list)
    }
  }
}
