import HostDoctor
import PAMStacks
import Testing

/// What `iampassctl login-test` says of a service that nothing is known of.
@Suite struct ServiceProposalTests {
  private static let loginSession = "session optional pam_systemd.so"
  private static let command =
    "  echo 'kind = sudo-like' | install -D -m 644 /dev/stdin /etc/iampass/services.d/sudo-phone.conf"

  private func lines(_ program: ServiceProgram, session: String = "", service: String = "sudo-phone") throws -> [String]
  {
    let files = ["/p/\(service)": "auth required pam_unix.so\n@include common-session", "/p/common-session": session]
    let reader = PAMReader(folder: "/p") { files[$0].map { Array($0.utf8) } }
    return ServiceProposal(service: service, session: try reader.stack("session", of: service), program: program).lines
  }

  @Test func whatWasSeenIsSaidWithItsPlace() throws {
    let lines = try lines(.ofRoot(path: "/usr/sbin/ftp"), session: "# logind\n\(Self.loginSession)", service: "ftp")
    #expect(
      lines == [
        "nothing is known of ftp", "  session  pam_systemd.so opens a login session (/p/common-session:2)",
        "  program  root starts /usr/sbin/ftp", "it counts as a service that opens login sessions, and needs no row",
      ])
  }

  /// With common-session in its file, too: a logind session there is none of the sign-in's.
  @Test(arguments: ["", loginSession])
  func aServiceOfSudosPolicyGetsTheRow(session: String) throws {
    let lines = try lines(.sudo(option: "pam_service"), session: session)
    #expect(lines.contains("  program  sudo, by pam_service in /etc/sudoers"))
    #expect(lines.contains("it asks for single commands, as sudo does; this makes it known as such:"))
    #expect(lines.contains(Self.command))
  }

  @Test func aProgramWithRootsRightsAndNoLoginSessionGetsTheRow() throws {
    #expect(try lines(.withRootsRights(path: "/usr/bin/sudo-phone")).contains(Self.command))
  }

  /// The row would leave its sessions unwatched: an administrator decides.
  @Test(arguments: [
    (ServiceProgram.withRootsRights(path: "/usr/bin/sudo-phone"), loginSession), (.unknown, ""),
    (.ofRoot(path: "/usr/sbin/sudo-phone"), ""),
  ])
  func whatMayBeASignInGetsTheRowOnlyIfItRunsCommands(program: ServiceProgram, session: String) throws {
    let lines = try lines(program, session: session)
    #expect(lines.contains { $0.contains("if it runs single commands, as sudo does") })
    #expect(lines.contains(Self.command))
  }

  @Test(arguments: [ServiceProgram.unknown, .ofRoot(path: "/usr/sbin/x"), .withUsersRights(path: "/usr/bin/x")])
  func aServiceThatOpensLoginSessionsNeedsNone(program: ServiceProgram) throws {
    #expect(try !lines(program, session: Self.loginSession).contains { $0.contains("sudo-like") })
  }

  @Test func aProgramWithoutRootsRightsCannotAsk() throws {
    let lines = try lines(.withUsersRights(path: "/usr/bin/slock"), service: "slock")
    #expect(lines.last == "without root's rights only screen lockers that are known, and polkit, can ask the phone")
    #expect(!lines.contains { $0.contains("sudo-like") })
  }

  /// What it prints is pasted into root's shell.
  @Test func aNameThatAShellWouldReadIsInNoCommand() throws {
    let lines = try lines(.unknown, service: "x;reboot")
    #expect(!lines.contains { $0.contains("install") })
    #expect(lines.last == "  write kind = sudo-like to /etc/iampass/services.d/x;reboot.conf")
  }

  @Test func aProgramIsFoundWithItsRights() {
    #expect(ServiceProgram.find("su") == .withRootsRights(path: "/usr/bin/su"))
    #expect(ServiceProgram.find("cat") == .withUsersRights(path: "/usr/bin/cat"))
    #expect(ServiceProgram.find("chroot") == .ofRoot(path: "/usr/sbin/chroot"))
    #expect(ServiceProgram.find("..") == .unknown)
  }
}
