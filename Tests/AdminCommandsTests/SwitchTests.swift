import AdminCommands
import HostState
import Testing

@Suite struct JournalApprovalTests {
  private let user = UnixUsername(validating: "alice")

  private func stands(_ message: String, capabilities: String = "1ffffffffff", services: [String] = ["sudo"]) -> Bool {
    JournalApproval.stands(
      in: #"{"MESSAGE":"\#(message)","_CAP_EFFECTIVE":"\#(capabilities)"}"#, user: user, services: services)
  }

  private let line = "pam_iampass(sudo:auth): approved user=alice service=sudo rhost=- record=0a"

  @Test func theModulesOwnLineCounts() { #expect(stands(line)) }

  @Test func aLineWithoutPrivilegesDoesNot() { #expect(!stands(line, capabilities: "0")) }

  @Test func anotherUsersDoesNot() { #expect(!stands(line.replacing("user=alice", with: "user=alicex"))) }

  @Test func aServiceThatIsNotListedDoesNot() { #expect(!stands(line, services: ["login"])) }

  @Test func aRefusalDoesNot() { #expect(!stands(line.replacing("approved", with: "refused"))) }

  @Test func anotherModulesLineDoesNot() { #expect(!stands(line.replacing("pam_iampass(", with: "pam_other("))) }

  @Test func aLineThatOnlyQuotesItDoesNot() { #expect(!stands("alice : COMMAND=/bin/echo " + line)) }
}

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
