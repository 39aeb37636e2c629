import Testing

@testable import HostDoctor

/// sudo's policy, as cvtsudoers of Debian 12 prints it.
@Suite struct SudoersTests {
  /// `Defaults env_reset`, and `entries` behind it.
  private func policy(_ entries: String...) throws -> SudoersSettings {
    let all = [#"{"Options": [{ "env_reset": true }]}"#] + entries
    return try #require(SudoersSettings("{\n\"Defaults\": [\n\(all.joined(separator: ",\n"))\n]\n}\n"))
  }

  private func always(_ option: String) -> String { "{\"Options\": [{ \(option) }]}" }

  private func bound(_ option: String, to binding: String) -> String {
    "{\"Binding\": [\(binding)], \"Options\": [{ \(option) }]}"
  }

  /// - Parameter known: services that count as ones without a login session.
  private func findings(
    _ policy: SudoersSettings, listed: [String] = ["sudo", "sudo-i"], known: [String] = ["sudo", "sudo-i"],
    missing: [String] = []
  ) -> [Finding] {
    policy.findings(listed: listed, opensSession: { !known.contains($0) }, isThere: { !missing.contains($0) })
  }

  private static let phone = #""pam_service": "sudo-phone""#
  private static let alice = #"{ "username": "alice" }"#

  /// As it was printed, spaces and all.
  @Test func theProgramsOwnWordsAreRead() throws {
    let printed = """
      cvtsudoers: /etc/sudoers:12:21: unknown defaults entry "nosuchthing"
      {
          "Defaults": [
              {
                  "Options": [
                      { "secure_path": "/usr/local/sbin:/usr/bin" }
                  ]
              },
              {
                  "Binding": [
                      { "username": "alice" },
                      { "usergroup": "staff", "negated": true }
                  ],
                  "Options": [
                      { "pam_service": "sudo-alice" },
                      { "pam_ruser": false }
                  ]
              },
              {
                  "Options": [
                      {
                          "operation": "list_add",
                          "env_keep": [
                              "FOO",
                              "BAR"
                          ]
                      }
                  ]
              },
              {
                  "Options": [
                      { "pam_login_service": "sudo-desk" }
                  ]
              }
          ]
      }

      """
    let services = try #require(SudoersSettings(printed)).services
    #expect(services.map(\.name) == ["sudo-alice", "sudo-desk"])
    #expect(services.map(\.option) == ["pam_service", "pam_login_service"])
    #expect(services.map(\.bound) == ["alice, !staff", nil])
  }

  @Test func aPolicyWithoutEntriesIsPrintedAsNothing() throws {
    #expect(try #require(SudoersSettings("")).services.isEmpty)
    #expect(try #require(SudoersSettings("cvtsudoers: /etc/sudoers:1:1: unknown defaults entry\n")).services.isEmpty)
  }

  @Test(arguments: ["{", "{\n\"Defaults\": [\n}\n", "usage: cvtsudoers", "{\n}}\n}\n"])
  func anythingElseIsNotUnderstood(output: String) { #expect(SudoersSettings(output) == nil) }

  @Test func theLastEntryHolds() throws {
    let policy = try policy(always(#""pam_service": "first""#), always(Self.phone))
    #expect(policy.services.map(\.name) == ["sudo-phone"])
    #expect(try self.policy(always(Self.phone), always(#""pam_service": "sudo""#)).services.isEmpty)
    #expect(policy.option(naming: "sudo-phone") == "pam_service" && policy.option(naming: "first") == nil)
  }

  @Test func aServiceThatIsNotListedIsAProblem() throws {
    let found = findings(try policy(always(Self.phone)))
    #expect(found.map(\.level) == [.problem])
    #expect(found[0].text == "sudo: pam_service is sudo-phone, which is not in services: the phone is not asked")
    let row = "write kind = sudo-like to /etc/iampass/services.d/sudo-phone.conf"
    #expect(found[0].hint == "\(row), and add sudo-phone to services")
    let known = findings(try policy(always(Self.phone)), known: ["sudo", "sudo-i", "sudo-phone"])
    #expect(known.map(\.hint) == ["add sudo-phone to services"])
  }

  @Test func oneForSomeCallsIsAWarning() throws {
    let entries = [
      bound(Self.phone, to: Self.alice), always(#""pam_login_service": "sudo-desk""#),
      always(#""pam_askpass_service": "sudo-ask""#),
    ]
    for entry in entries { #expect(findings(try policy(entry)).map(\.level) == [.warning]) }
    #expect(findings(try policy(entries[0]))[0].text.contains("pam_service is sudo-phone for alice,"))
  }

  @Test func aListedServiceOfSudoMustOpenNoSession() throws {
    let listed = ["sudo", "sudo-i", "sudo-phone"]
    let found = findings(try policy(always(Self.phone)), listed: listed)
    #expect(found.map(\.level) == [.problem])
    #expect(found[0].hint == "write kind = sudo-like to /etc/iampass/services.d/sudo-phone.conf")
    #expect(findings(try policy(always(Self.phone)), listed: listed, known: listed).isEmpty)
    // No file changes what login is.
    let login = findings(try policy(always(#""pam_service": "login""#)), listed: ["login"])
    #expect(login.map(\.hint) == ["give sudo a service of its own: visudo"])
  }

  @Test func nothingIsReportedIfSudoIsNotListed() throws {
    let policy = try policy(always(Self.phone), always(#""targetpw": true"#))
    #expect(findings(policy, listed: ["login"]).isEmpty)
  }

  /// An entry for other computers may stand in a policy that many share.
  @Test func anEntryForSomeWithoutAFileIsLeftOut() throws {
    #expect(findings(try policy(bound(Self.phone, to: #"{ "hostname": "desk" }"#)), missing: ["sudo-phone"]).isEmpty)
    #expect(findings(try policy(always(Self.phone)), missing: ["sudo-phone"]).count == 1)
  }

  @Test(arguments: [("pam_rhost", true), ("pam_ruser", false)])
  func whatHidesTheUsersOwnTerminalIsAWarning(name: String, value: Bool) throws {
    let hides = always("\"\(name)\": \(value)")
    let found = findings(try policy(hides))
    #expect(found.map(\.level) == [.warning])
    #expect(found[0].text.hasPrefix("sudo: \(value ? "" : "!")\(name) is set: "))
    #expect(findings(try policy(hides, always("\"\(name)\": \(!value)"))).isEmpty)
  }

  @Test func whosePhoneIsAskedIsSaid() throws {
    for option in ["targetpw", "rootpw", "runaspw"] {
      let found = findings(try policy(bound("\"\(option)\": true", to: Self.alice)))
      #expect(found.map(\.level) == [.ok])
      #expect(found[0].text.hasPrefix("sudo: \(option) is set for alice: not the caller's phone"))
    }
    #expect(findings(try policy(always(#""targetpw": true"#), always(#""targetpw": false"#))).isEmpty)
  }
}
