import HostState
import HostSystem
import Testing

@testable import PAMStacks

/// Which lines of PAM's files are expected, and which have gone.
@Suite struct PhoneLineTests {
  private static let common = """
    auth [success=2 maxtries=die default=ignore] pam_iampass.so
    auth [success=1 default=ignore] pam_unix.so
    auth requisite pam_deny.so
    auth required pam_permit.so
    """
  private static let rewritten = "auth required pam_unix.so\n"

  private func lines(_ files: [String: String], _ services: [String] = ["sudo", "sshd"]) -> PhoneLines {
    let reader = PAMReader(folder: "/p") { path in files[String(path.dropFirst(3))].map { Array($0.utf8) } }
    return PhoneLines(of: services, reader: reader) { $0 == "sshd" }
  }

  private func remembered(_ lines: PhoneLines, _ known: [PhoneLine], _ services: [String]) -> [PhoneLine] {
    lines.remembered(after: known, listed: services) { _ in true }
  }

  private let asked = PhoneLine(.auth, of: "sudo", in: "/p/common-auth")
  private let required = PhoneLine(.auth, of: "sshd", in: "/p/sshd", isRequired: true)

  @Test func aLineIsFoundInTheFileThatHasIt() {
    let found = lines([
      "sudo": "@include common-auth", "common-auth": Self.common,
      "sshd": "auth required pam_iampass.so\nauth required pam_unix.so\nsession optional pam_iampass.so",
    ]).found
    #expect(found == [asked, required, PhoneLine(.session, of: "sshd", in: "/p/sshd")])
  }

  @Test func anInstalledLockerGoesByTheFileThatItAsksAs() {
    let files = ["/p/common-auth": Self.common]
    let reader = PAMReader(
      folder: "/p", read: { files[$0].map { Array($0.utf8) } }, isInstalled: { $0 == "xsecurelock" })
    let found = PhoneLines(of: ["xsecurelock", "i3lock"], reader: reader) { _ in false }.found
    #expect(found == [PhoneLine(.auth, of: "xsecurelock", in: "/p/common-auth")])
  }

  @Test func aLineThatHandsAPasswordOnAsksNobody() {
    #expect(lines(["sudo": "auth optional pam_iampass.so keyring\nauth required pam_unix.so"]).found.isEmpty)
  }

  @Test func aRewrittenFileHasLostItsLine() {
    let after = lines(["sudo": "@include common-auth", "common-auth": Self.rewritten, "sshd": Self.rewritten])
    #expect(after.lost(of: [asked, required], listed: ["sudo", "sshd"]) == [asked, required])
    #expect(remembered(after, [asked, required], ["sudo", "sshd"]) == [asked, required])
  }

  /// The file of the second factor was rewritten, and the line that replaces a password is still included.
  @Test func aPhoneThatIsAskedAndNotRequiredAnyMoreIsALoss() {
    let after = lines(["sshd": "@include common-auth", "common-auth": Self.common], ["sshd"])
    #expect(after.lost(of: [required], listed: ["sshd"]) == [required])
    #expect(remembered(after, [required], ["sshd"]) == [required])
  }

  @Test func aPhoneThatBecomesRequiredIsNotALoss() {
    let after = lines(["sudo": "auth required pam_iampass.so\nauth required pam_unix.so"], ["sudo"])
    #expect(after.lost(of: [asked], listed: ["sudo"]).isEmpty)
    #expect(
      remembered(after, [asked], ["sudo"])
        == [PhoneLine(.auth, of: "sudo", in: "/p/sudo", isRequired: true)])
  }

  @Test func whatMayBeATrialIsNotExpectedYet() {
    let after = lines(["sudo": "auth required pam_iampass.so\nauth required pam_unix.so", "sshd": Self.common])
    let remembered = after.remembered(after: [asked], listed: ["sudo", "sshd"]) { _ in false }
    #expect(remembered == [asked])
  }

  @Test func nothingIsExpectedOfAServiceThatIsNotListed() {
    let after = lines(["sudo": Self.rewritten], ["sudo"])
    #expect(after.lost(of: [asked, required], listed: ["login"]).isEmpty)
    #expect(remembered(after, [asked, required], ["login"]).isEmpty)
  }

  @Test(arguments: [[:], ["sshd": "@include nowhere"], ["sshd": "nonsense"]])
  func aStackThatCannotBeReadLosesNothingAndForgetsNothing(_ files: [String: String]) {
    let after = lines(files, ["sshd"])
    #expect(after.lost(of: [required], listed: ["sshd"]).isEmpty)
    #expect(remembered(after, [required], ["sshd"]) == [required])
  }

  @Test func oneSentenceIsForAFileAndWhatWasRequiredComesFirst() {
    let sudoI = PhoneLine(.auth, of: "sudo-i", in: "/p/common-auth")
    let session = PhoneLine(.session, of: "sshd", in: "/p/common-session")
    let all = LostLines.all([asked, sudoI, session, required])
    #expect(
      all.map(\.text) == [
        "/p/sshd has lost its line of pam_iampass.so; the phone was required there, and is not any more: sshd",
        "/p/common-auth has lost its line of pam_iampass.so; the phone is not asked any more: sudo, sudo-i",
        "/p/common-session has lost its line of pam_iampass.so; nobody would watch a session that the phone opens: sshd",
      ])
    #expect(all.map(\.wasRequired) == [true, false, false])
    #expect(all[0].hint.hasPrefix("put the line back") && all[1].hint.hasPrefix("iampassctl enable"))
  }

  @Test func theNoteReadsBackWhatWasWritten() {
    let lines = [asked, required, PhoneLine(.session, of: "sshd", in: "/p/with a blank")]
    #expect(PhoneLineNote.lines(PhoneLineNote.text(lines)) == lines)
    #expect(PhoneLineNote.lines(Array("auth sudo\nother sudo asked /p/a\nauth sudo maybe /p/a\n\n".utf8)).isEmpty)
  }
}
