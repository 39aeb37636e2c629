import PAMStacks
import Testing

@testable import HostDoctor

/// sshd's `password` method in a stack that rings the phone before it looks at the password.
@Suite struct SSHDPasswordTests {
  private static let usual = "usepam yes\npubkeyauthentication no\nkbdinteractiveauthentication yes\n"
  private static let on = usual + "passwordauthentication yes\n"

  /// The finding for a stack whose line stands at `/etc/pam.d/sshd:4`.
  private func found(_ settings: String, ringing place: String? = "/etc/pam.d/sshd:4") -> [Finding] {
    SSHDSettings(settings).passwordFindings(ringing: place)
  }

  private func ringing(_ auth: String) throws -> String? {
    let text = auth.split(separator: "\n").map { "auth \($0)" }.joined(separator: "\n")
    let reader = PAMReader(folder: "/p") { $0 == "/p/sshd" ? Array(text.utf8) : nil }
    return StackJudgement(service: "sshd", auth: try reader.stack("auth", of: "sshd"), session: []).ringsForAnyPassword
  }

  @Test func pushForEveryPasswordIsAWarningThatSaysWhatToSet() {
    let findings = found(Self.on)
    #expect(findings.map(\.level) == [.warning])
    #expect(
      findings.first?.text
        == "sshd: PasswordAuthentication is on and /etc/pam.d/sshd:4 has prompt=push: every password that somebody "
        + "tries rings the phone, and a denial refuses the user's own passwords from the same address for 3 minutes")
    #expect(findings.first?.hint?.hasPrefix("set prompt=choose in that line, or PasswordAuthentication no in ") == true)
  }

  @Test func withoutPasswordsOrPushThereIsNoWarning() {
    #expect(found(Self.on, ringing: nil).isEmpty)
    #expect(found(Self.usual + "passwordauthentication no\n").isEmpty)
    #expect(found(Self.on.replacing("usepam yes", with: "usepam no")).isEmpty)
  }

  @Test(arguments: [
    ("any", 1), ("password", 1), ("keyboard-interactive password,publickey", 0), ("publickey,password", 0),
    ("keyboard-interactive", 0), ("publickey,keyboard-interactive password,keyboard-interactive", 1),
  ])
  func aPasswordAfterAnotherMethodIsNotAStrangers(_ methods: String, _ count: Int) {
    #expect(found(Self.on + "authenticationmethods \(methods)\n").count == count)
  }

  @Test func aKeyBeforeThePasswordKeepsStrangersOut() {
    let on = Self.on.replacing("pubkeyauthentication no", with: "pubkeyauthentication yes")
    #expect(found(on + "authenticationmethods publickey,password\n").isEmpty)
    #expect(found(on + "authenticationmethods password,publickey\n").count == 1)
  }

  @Test(arguments: [
    "sufficient pam_iampass.so prompt=push\nrequired pam_unix.so",
    "required pam_iampass.so prompt=push\nrequired pam_unix.so",
  ])
  func aLineBeforeThePasswordRingsForEveryPassword(_ auth: String) throws {
    #expect(try ringing(auth) == "/p/sshd:1")
  }

  /// libpam goes on after a required line that has failed.
  @Test func aRequiredPasswordDoesNotKeepThePhoneFromRinging() throws {
    #expect(try ringing("required pam_unix.so\nrequired pam_iampass.so prompt=push") == "/p/sshd:2")
  }

  @Test(arguments: [
    "requisite pam_unix.so\nrequired pam_iampass.so prompt=push",
    "sufficient pam_iampass.so\nrequired pam_unix.so",
    "sufficient pam_iampass.so prompt=choose\nrequired pam_unix.so",
    "optional pam_iampass.so keyring prompt=push\nrequired pam_unix.so",
  ])
  func otherLinesRingForNoWrongPassword(_ auth: String) throws {
    #expect(try ringing(auth) == nil)
  }

  /// Otherwise each block with that setting would be asked about.
  @Test func aBlockThatOnlyTakesPasswordsIsLookedAtIfTheyRing() {
    let text = "Match User alice\n PasswordAuthentication yes\n"
    let blocks = SSHDMatchReader(read: { _ in Array(text.utf8) }, expand: { _ in [] }).look()
    func findings(_ ringing: [String: String]) -> [Finding] {
      SSHDMatchFindings(
        general: SSHDSettings(Self.usual), asking: ["sshd"], ringing: ringing, members: { _ in [] },
        answer: { _ in .settings(SSHDSettings(Self.on)) }
      ).findings(blocks)
    }
    #expect(findings([:]).isEmpty)
    let warned = findings(["sshd": "/etc/pam.d/sshd:4"])
    #expect(warned.map(\.level) == [.warning])
    #expect(warned.first?.text.hasSuffix("for 3 minutes, as for user=alice") == true)
  }
}
