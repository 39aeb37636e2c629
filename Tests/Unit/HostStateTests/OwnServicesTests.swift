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
    ("kind = sudo-like\nsession = no", .unknownKey("session", line: 2)),
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
