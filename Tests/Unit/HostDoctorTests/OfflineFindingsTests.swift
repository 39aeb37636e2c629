import HostState
import Testing

@testable import HostDoctor

/// What a computer is left with without the service.
@Suite struct OfflineFindingsTests {
  private func findings(_ methods: String, _ codes: [OfflineFindings.Codes], users: [String] = ["alice"]) throws
    -> [Finding]
  {
    OfflineFindings(
      methods: try #require(OfflineMethods(reading: methods)), services: ["sudo", "sshd"], codes: codes, users: users
    ).findings
  }

  @Test func withoutThisWayThePasswordIsLeft() throws {
    let found = try findings("none", [])
    #expect(found.map(\.level) == [.ok])
    #expect(found[0].text.contains("all sign-ins need a password"))
  }

  @Test func codesThatNoServiceTakesAreNamed() throws {
    #expect(try findings("none", [.init(user: "alice", left: 10)]).last?.hint == "set methods_offline = recovery")
  }

  @Test func servicesAndCodesAreNamed() throws {
    let found = try findings("recovery sshd:none", [.init(user: "alice", left: 10)])
    #expect(found.map(\.level) == [.ok, .ok])
    #expect(found[0].text.contains("sudo take") && !found[0].text.contains("sshd"))
    #expect(found[1].text == "alice has 10 recovery codes left")
  }

  @Test func servicesThatTakeNoCodeAreNotPromised() throws {
    let found = OfflineFindings(
      methods: try #require(OfflineMethods(reading: "recovery")), services: ["sudo", "polkit-1", "kde", "sddm"],
      codes: [], users: []
    ).findings.map(\.text)
    #expect(
      found == [
        "without the service, sudo, sddm take recovery codes", "through the broker no code is taken: polkit-1, kde",
        "sddm takes a code only if its line says prompt=push",
      ])
    let alone = OfflineFindings(
      methods: try #require(OfflineMethods(reading: "recovery")), services: ["kde"], codes: [], users: [])
    #expect(alone.findings[0].text.contains("all sign-ins need a password"))
  }

  @Test(arguments: [
    OfflineFindings.Codes(user: "alice", left: 2), .init(user: "alice", left: 10, fault: "made elsewhere"),
  ])
  func fewOrUselessCodesAreAWarning(_ codes: OfflineFindings.Codes) throws {
    let last = try #require(try findings("recovery", [codes]).last)
    #expect(last.level == .warning && last.hint == "iampassctl recovery create alice")
  }

  @Test func usersWithoutCodesAreNamed() throws {
    let found = try findings("recovery", [.init(user: "alice", left: 10)], users: ["alice", "bob"])
    #expect(found.last?.text == "without recovery codes, so with a password only: bob")
  }
}
