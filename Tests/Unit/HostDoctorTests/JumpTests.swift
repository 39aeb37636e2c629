import HostState
import PAMStacks
import Testing

@testable import HostDoctor

/// common-auth as pam-auth-update writes it, with these lines in its first part.
private func common(_ primary: String, above: String = "") -> String {
  """
  # a comment
  \(above)
  # here are the per-package modules (the "Primary" block)
  \(primary)
  # here's the fallback if no module succeeds
  auth requisite pam_deny.so
  auth required pam_permit.so
  # and here are more per-package modules (the "Additional" block)
  auth optional pam_cap.so
  # end of pam-auth-update config
  """
}

private let off = common("auth [success=1 default=ignore] pam_unix.so nullok")
private let on = common(
  """
  auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so
  auth [success=1 default=ignore] pam_unix.so nullok try_first_pass
  """)

/// sudo with the lines above `@include common-auth`.
private struct Files {
  let lines: String
  let common: String
  var rest = ""

  private var reader: PAMReader {
    let files = ["/p/sudo": "\(lines)\n@include common-auth\n\(rest)", "/p/common-auth": common]
    return PAMReader(folder: "/p") { files[$0].map { Array($0.utf8) } }
  }

  private var blocks: ManagedBlocks? { ManagedBlocks(path: "/p/common-auth", text: Array(common.utf8)) }

  private func stack() throws -> StackJudgement {
    StackJudgement(service: "sudo", auth: try reader.stack("auth", of: "sudo"), session: [])
  }

  func crossing() throws -> [String] { try stack().crossingJumps(blocks).map(\.text) }

  func moved(keyring: Bool = false, key: SecurityKeyProfile? = nil) throws -> [String] {
    let blocks = try #require(blocks)
    let planned = PlannedLines(
      blocks, stack: try reader.stack("auth", of: "common-auth"), hasKeyring: keyring, securityKey: key)
    return try stack().movedJumps(planned).map(\.text)
  }
}

private func exempting(_ control: String) -> String { "auth \(control) pam_succeed_if.so user ingroup nophone" }

@Suite struct CrossingJumpTests {
  @Test(arguments: ["[success=2 default=ignore]", "[success=ignore default=2]", "[user_unknown=2 default=ignore]"])
  func aJumpOntoTheRefusalIsAProblemWhicheverAnswerTakesIt(_ control: String) throws {
    let found = try Files(lines: exempting(control), common: on).crossing()
    #expect(found.count == 1)
    #expect(
      found.first?.contains("=2 at /p/sudo:1 leads past pam_iampass.so to pam_deny.so (/p/common-auth:7)") == true)
    #expect(found.first?.contains("is refused, with the right password too") == true)
  }

  @Test(arguments: ["pam_succeed_if.so user ingroup nophone", "pam_listfile.so item=user file=/x", "pam_wheel.so"])
  func aJumpPastTheRefusalIsAnOpenDoor(_ module: String) throws {
    let found = try Files(lines: "auth [success=3 default=ignore] \(module)", common: on).crossing()
    #expect(found.map { $0.contains("pam_permit.so (/p/common-auth:8): whoever") } == [true])
    #expect(found.first?.contains("gets in, with a wrong password too") == true)
  }

  @Test func aJumpPastThePhoneAloneIsWell() throws {
    #expect(try Files(lines: exempting("[success=1 default=ignore]"), common: on).crossing() == [])
  }

  @Test func aJumpThatEndsAboveThePhoneIsWell() throws {
    let lines = exempting("[success=1 default=ignore]") + "\nauth required pam_faildelay.so"
    #expect(try Files(lines: lines, common: on).crossing() == [])
  }

  @Test func whatStandsInForThePasswordMayPassOverIt() throws {
    for module in ["pam_fprintd.so", "pam_rootok.so", "pam_exec.so /bin/asks"] {
      #expect(try Files(lines: "auth [success=3 default=ignore] \(module)", common: on).crossing() == [])
    }
    let refused = try Files(lines: "auth [success=2 default=ignore] pam_fprintd.so", common: on).crossing()
    #expect(refused.map { $0.contains("is refused") } == [true])
  }

  @Test func whatPAMAuthUpdateWritesIsWell() throws {
    #expect(try Files(lines: "", common: on).crossing() == [])
    let key = SecurityKeyProfile(.instead, services: ["sudo"], mapping: "/m").text.split(separator: "\n")
      .filter { $0.hasPrefix("\t") }.map { "auth " + $0.replacing("=end", with: "=3") }.joined(separator: "\n")
    let both = on.replacing("auth [success=2 maxtries", with: key + "\nauth [success=2 maxtries")
    #expect(try Files(lines: "", common: both).crossing() == [])
  }

  /// Its author has seen both lines.
  @Test func aRefusalThatIsMeantIsWell() throws {
    let byHand = exempting("[success=1 default=ignore]") + "\nauth required pam_iampass.so\nauth requisite pam_deny.so"
    #expect(try Files(lines: byHand, common: off).crossing() == [])
  }

  @Test func theManualsRescueIsWell() throws {
    let rescue = """
      auth requisite pam_unix.so
      auth [success=1 default=ignore] pam_succeed_if.so quiet user ingroup rescue
      auth required pam_iampass.so
      auth required pam_permit.so
      """
    #expect(try Files(lines: rescue, common: common("")).crossing() == [])
  }

  @Test func substacksCountOnce() throws {
    let lines = exempting("[success=2 default=ignore]") + "\nauth substack common-auth"
    #expect(try Files(lines: lines, common: on).crossing() == [])
  }
}

/// A service's session lines around `@include common-session`, as pam-auth-update writes that file.
@Suite struct SessionJumpTests {
  private static let off = """
    # here are the per-package modules (the "Primary" block)
    session [default=1] pam_permit.so
    # here's the fallback if no module succeeds
    session requisite pam_deny.so
    session required pam_permit.so
    # and here are more per-package modules (the "Additional" block)
    session required pam_unix.so
    session optional pam_systemd.so
    # end of pam-auth-update config
    """
  private static let on = off.replacing(
    "# end of", with: "session [session_err=die default=ignore] pam_iampass.so\n# end of")

  private func reader(_ count: Int, _ common: String) -> PAMReader {
    let jump = "session [success=\(count) default=ignore] pam_succeed_if.so user ingroup nophone\n"
    let own = jump + "@include common-session\nsession optional pam_mail.so\nsession optional pam_motd.so\n"
    let files = ["/p/login": own, "/p/common-session": common]
    return PAMReader(folder: "/p") { files[$0].map { Array($0.utf8) } }
  }

  private func stack(_ count: Int, _ common: String) throws -> StackJudgement {
    StackJudgement(service: "login", auth: [], session: try reader(count, common).stack("session", of: "login"))
  }

  private func moved(_ count: Int, _ common: String) throws -> [String] {
    let blocks = try #require(ManagedBlocks(path: "/p/common-session", text: Array(common.utf8)))
    let planned = PlannedLines(blocks, session: try reader(count, common).stack("session", of: "common-session"))
    return try stack(count, common).movedSessionJumps(planned).map(\.text)
  }

  @Test func aJumpPastOurLineLeavesTheSessionUnwatched() throws {
    let found = try stack(6, Self.on).crossingSessionJumps().map(\.text)
    #expect(
      found == [
        "success=6 at /p/login:1 leads past pam_iampass.so to pam_mail.so (/p/login:3): nobody watches the session of "
          + "whoever it applies to"
      ])
    #expect(try stack(5, Self.on).crossingSessionJumps().isEmpty)
  }

  @Test func aJumpThatEnableWouldMoveIsNamed() throws {
    let found = try moved(6, Self.off)
    #expect(found.count == 1)
    #expect(
      found.first?.hasPrefix(
        "success=6 at /p/login:1 leads to pam_motd.so (/p/login:4), and will lead to pam_mail.so (/p/login:3): nobody "
          + "watches") == true)
  }

  @Test func whatIsOnOrAboveMovesNothing() throws {
    #expect(try moved(6, Self.on).isEmpty)
    #expect(try moved(1, Self.off).isEmpty)
  }
}

@Suite struct MovedJumpTests {
  @Test func eachJumpThatEnableWouldMoveIsNamedWithWhatComesOfIt() throws {
    let two = try Files(lines: exempting("[success=2 default=ignore]"), common: off).moved()
    #expect(
      two == [
        "success=2 at /p/sudo:1 leads to pam_permit.so (/p/common-auth:7), and will lead to pam_deny.so "
          + "(/p/common-auth:6): whoever it applies to is refused, with the right password too"
      ])
    let three = try Files(lines: exempting("[success=3 default=ignore]"), common: off).moved()
    #expect(three.map { $0.contains("will lead to pam_permit.so (/p/common-auth:7): whoever") } == [true])
    #expect(three.first?.contains("gets in, with a wrong password too") == true)
    let one = try Files(lines: exempting("[success=1 default=ignore]"), common: off).moved()
    #expect(one.map { $0.hasSuffix("whoever it applies to gets in by the password alone") } == [true])
    let past = try Files(lines: exempting("[success=5 default=ignore]"), common: off).moved()
    #expect(past.map { $0.contains("leads to a place past the end, and will lead to the end of the stack") } == [true])
  }

  @Test func bothAnswersOfALineAreFollowed() throws {
    #expect(try Files(lines: exempting("[success=2 default=1]"), common: off).moved().count == 2)
  }

  @Test func aJumpThatEndsAtTheNewLineStaysWhereItIs() throws {
    let lines = exempting("[success=1 default=ignore]") + "\nauth required pam_faildelay.so"
    #expect(try Files(lines: lines, common: off).moved() == [])
  }

  @Test func whatIsOnMovesNothing() throws {
    #expect(try Files(lines: exempting("[success=2 default=ignore]"), common: on).moved() == [])
  }

  @Test func linesAbovePAMAuthUpdatesOwnMoveToo() throws {
    let above = common(
      "auth [success=1 default=ignore] pam_unix.so nullok", above: exempting("[success=2 default=ignore]"))
    #expect(try Files(lines: "", common: above).moved().map { $0.contains("at /p/common-auth:2 ") } == [true])
  }

  @Test func linesOfTheKeyringAndOfAKeyCountToo() throws {
    let four = exempting("[success=4 default=ignore]")
    #expect(try Files(lines: four, common: on, rest: "auth required pam_permit.so").moved() == [])
    let five = Files(lines: exempting("[success=5 default=ignore]"), common: on, rest: "auth required pam_permit.so")
    #expect(try five.moved() == [])
    #expect(try five.moved(keyring: true).map { $0.contains("will lead to pam_cap.so") } == [true])
    let instead = SecurityKeyProfile(.instead, services: ["sudo"], mapping: "/m")
    let two = Files(lines: exempting("[success=3 default=ignore]"), common: on)
    #expect(try two.moved(key: instead).map { $0.contains("will lead to pam_unix.so") } == [true])
  }

  @Test(arguments: [
    "", "auth required pam_unix.so\n", off.replacing("# end of pam-auth-update config", with: ""),
    off.replacing("# here's the fallback", with: "# here was the fallback"),
  ])
  func aFileThatPAMAuthUpdateLeavesAloneIsNotPlanned(_ text: String) {
    #expect(ManagedBlocks(path: "/p/common-auth", text: Array(text.utf8)) == nil)
  }

  @Test func eachIncludeOfTheFileGetsTheLines() throws {
    let twice = Files(
      lines: "@include common-auth\n" + exempting("[success=2 default=ignore]"), common: off)
    #expect(try twice.moved().map { $0.contains("at /p/sudo:2 ") } == [true])
  }
}
