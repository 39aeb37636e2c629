import HostDoctor
import HostSystem
import PAMStacks
import Testing

/// What `check` says of account lines and of passwords that have expired.
@Suite struct AccountFindingsTests {
  private static let today = 20_000

  /// A service whose account lines are given as text.
  private func stacks(_ services: (name: String, account: String)...) throws -> AccountFindings {
    let reader = PAMReader(folder: "/p") { path in
      services.first { path == "/p/\($0.name)" }.map { service in
        Array(service.account.split(separator: "\n").map { "account \($0)\n" }.joined().utf8)
      }
    }
    return AccountFindings(
      stacks: try services.map { (service: $0.name, account: try reader.stack("account", of: $0.name)) })
  }

  private static let unix = "[success=1 new_authtok_reqd=done default=ignore] pam_unix.so"

  private func said(_ account: String, changed: Int = 20_000, grace: Int = -1, end: Int = -1) throws -> [Finding] {
    let age = PasswordAge(lastChange: changed, greatest: 90, grace: grace, accountEnd: end)
    return PasswordFindings([(name: "alice", age: age)], today: Self.today, stacks: try stacks(("sudo", account)))
      .findings
  }

  @Test func aCurrentPasswordIsNotSpokenOf() throws {
    #expect(try said(Self.unix).isEmpty)
  }

  @Test func anExpiredOneIsAWarningWithTheUsersName() throws {
    let found = try said(Self.unix, changed: 0)
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.hasSuffix(": alice") == true)
    #expect(found.first?.hint?.hasPrefix("passwd alice") == true)
  }

  @Test func whatTheSystemRefusesIsAWarning() throws {
    #expect(try said(Self.unix, changed: 1, grace: 0).map(\.hint) == ["passwd alice"])
    #expect(try said(Self.unix, end: 1).map(\.hint) == ["chage --expiredate -1 alice"])
  }

  @Test func stacksThatDoNotMindAreBelieved() throws {
    #expect(try said("required pam_unix.so no_pass_expiry", changed: 0).isEmpty)
    #expect(try said("required pam_permit.so", changed: 0, end: 1).isEmpty)
    // The account's own end is not the password's.
    #expect(try said("required pam_unix.so no_pass_expiry", end: 1).count == 1)
  }

  @Test func aLineThatMayRefuseIsNamedOnceWithAllItsServices() throws {
    let reader = PAMReader(folder: "/p") { path in
      path == "/p/common-account"
        ? Array("account required pam_access.so\n".utf8) : Array("@include common-account\n".utf8)
    }
    let both = try ["sshd", "login"].map { (service: $0, account: try reader.stack("account", of: $0)) }
    let texts = AccountFindings(stacks: both).findings.map(\.text)
    #expect(texts.count == 1)
    #expect(texts.first?.hasPrefix("/p/common-account:1: pam_access may refuse") == true)
    #expect(texts.first?.hasSuffix("login, sshd") == true)
  }

  @Test func whatCannotRefuseIsNotNamed() throws {
    let lines = "optional pam_access.so\nrequired pam_nologin.so\nrequired pam_permit.so"
    #expect(try stacks(("sudo", lines)).findings.isEmpty)
  }

  @Test func theUsualStackNamesNothing() throws {
    #expect(try stacks(("sudo", Self.unix + "\nrequisite pam_deny.so\nrequired pam_permit.so")).findings.isEmpty)
  }
}
