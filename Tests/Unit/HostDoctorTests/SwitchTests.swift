import HostDoctor
import HostState
import PAMStacks
import QRCodes
import Testing

@Suite struct ProfileLinesTests {
  private func lines(_ text: String) throws -> ProfileLines {
    let reader = PAMReader(folder: "/p") { _ in Array(text.utf8) }
    return ProfileLines(auth: try reader.stack("auth", of: "common-auth"))
  }

  @Test func theJumpEndsBehindTheRefusal() throws {
    let found = try lines(
      "auth [success=2 default=ignore] pam_unix.so\nauth [success=1 default=ignore] pam_sss.so\nauth requisite pam_deny.so\n"
        + "auth required pam_permit.so")
    #expect(found.auth.contains("[success=3 "))
    #expect(found.above == "pam_unix")
  }

  @Test func linesBeforeThePasswordAreNotPassedOver() throws {
    let found = try lines(
      "auth required pam_faildelay.so\nauth [success=1 default=ignore] pam_unix.so\nauth requisite pam_deny.so")
    #expect(found.auth.contains("[success=2 "))
  }

  @Test func withoutARefusalAnApprovalEndsTheStack() throws {
    #expect(try lines("auth sufficient pam_unix.so").auth.contains("[success=done "))
  }
}

@Suite struct SwitchedOnTests {
  @Test func anSshdThatDoesNotAskPAMIsLeftOut() {
    let services = ["sudo", "login", "sshd"]
    #expect(SwitchedOn.text(services, sshdAsks: true) == "sign-in by phone is on for sudo, login, sshd")
    #expect(SwitchedOn.text(services, sshdAsks: false) == "sign-in by phone is on for sudo, login")
  }

  @Test func itSaysSoIfNothingAsksThePhone() {
    #expect(SwitchedOn.text(["sshd"], sshdAsks: false) == "the profiles are on, but no service asks the phone")
  }
}

@Suite struct QRPictureTests {
  @Test func hasItsQuietZone() throws {
    let picture = try #require(QRPicture("https://localhost/register/x"))
    for index in 0..<picture.size {
      for edge in 0..<4 {
        #expect(!picture.isDark(row: edge, column: index) && !picture.isDark(row: index, column: edge))
      }
    }
    #expect(picture.isDark(row: 4, column: 4))
  }

  @Test func fitsOnlyWithALineToSpare() throws {
    let picture = try #require(QRPicture("x"))
    let rows = (picture.size + 1) / 2
    #expect(picture.fits(columns: picture.size, rows: rows + 1))
    #expect(!picture.fits(columns: picture.size, rows: rows))
    #expect(!picture.fits(columns: picture.size - 1, rows: rows + 1))
  }

  @Test func aTextThatIsTooLongHasNone() { #expect(QRPicture(String(repeating: "x", count: 4_000)) == nil) }
}
