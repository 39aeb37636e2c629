import Testing

@testable import HostState

@Suite struct OwnServicesTests {
  private func row(_ service: String, _ text: String) throws -> ServiceRow {
    try OwnServices.row(service, KeyValueFile(parsing: Array(text.utf8)))
  }

  @Test func aSudoLikeServiceOpensNoSession() throws {
    let row = try row("sudo-phone", "# as sudo\nkind = sudo-like\n")
    #expect(row.name == "sudo-phone")
    #expect(!row.opensSession)
    // Nothing is known of its limits.
    #expect(!row.hasOwnLimits)
  }

  @Test func aLockerSaysWhatItShows() throws {
    let row = try row("i3lock-color", "kind = locker\nshows = nothing\n")
    #expect(row.kind == .locker && row.caller == .user && !row.opensSession)
    #expect(row.asksWithoutCode(callerUID: 1_000, for: 1_000))
    #expect(try self.row("i3lock-color", "kind = locker").shows == .text)
    #expect(try self.row("sudo-phone", "shows = prompts\nkind = sudo-like").shows == .prompts)
  }

  @Test(arguments: ["sudo", "login", "sshd", "gdm-password", "gdm-fingerprint", "swaylock", "cron"])
  func whatTheTableKnowsIsNotChanged(service: String) {
    #expect(throws: OwnServicesError.known) { try row(service, "kind = sudo-like") }
  }

  @Test(arguments: ["", "@desktop", "a b", "a/b", "a,b", "é"])
  func aNameThatNoServiceHasIsRefused(service: String) {
    #expect(throws: OwnServicesError.badName) { try row(service, "kind = sudo-like") }
  }

  @Test(arguments: [
    ("", OwnServicesError.noKind), ("kind = ssh", .badKind(line: 1)), ("kind =", .badKind(line: 1)),
    ("kind = sudo-like\nsession = no", .unknownKey("session", line: 2)), ("shows = text", .noKind),
    ("kind = sudo-like\nshows = nothing", .showsNothing), ("kind = locker\nshows = lines", .badShows(line: 2)),
  ])
  func whatIsNotUnderstoodIsRefused(text: String, error: OwnServicesError) {
    #expect(throws: error) { try row("sudo-phone", text) }
  }

  @Test func aServiceThatNobodyKnowsOpensOne() {
    let configuration = Configuration()
    #expect(configuration.opensSession("ftp"))
    #expect(!configuration.opensSession("doas"))
    #expect(configuration.opensSession("login"))
  }
}
