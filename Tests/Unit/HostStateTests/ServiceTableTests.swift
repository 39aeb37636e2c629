import HostState
import Testing

@Suite struct ServiceTableTests {
  @Test func eachServiceHasOneRow() {
    let names = ServiceTable.rows.map(\.name)
    #expect(Set(names).count == names.count)
  }

  @Test func aServiceWithoutARowIsWatched() {
    #expect(ServiceTable.row("ftp") == nil)
    #expect(ServiceTable.opensSession("ftp"))
    #expect(ServiceTable.opensSession(""))
  }

  @Test func onlyWhatSignsSomebodyInIsWatched() {
    for row in ServiceTable.rows {
      let signsIn: [ServiceRow.Kind] = [.greeter, .ssh, .console, .job]
      #expect(row.opensSession == (signsIn.contains(row.kind) || row.lockSign == .untried), "\(row.name)")
    }
  }

  @Test func lockersOfAUserAskThroughTheBroker() {
    #expect(DesktopServices.asksBroker("swaylock"))
    #expect(DesktopServices.asksBroker(DesktopServices.polkit))
    #expect(!DesktopServices.asksBroker("vlock"))
    #expect(!DesktopServices.asksBroker("hyprlock"))
    #expect(!DesktopServices.asksBroker("sudo"))
  }

  @Test func onlyALockerOfThatVeryUserAsksWithoutDigits() throws {
    func asks(_ service: String, by caller: UInt32, for uid: UInt32 = 1_000) throws -> Bool {
      try #require(ServiceTable.row(service)).asksWithoutCode(callerUID: caller, for: uid)
    }
    #expect(try asks("swaylock", by: 1_000))
    #expect(try asks("i3lock", by: 1_000))
    #expect(try !asks("swaylock", by: 1_001))
    #expect(try !asks("swaylock", by: 0))
    #expect(try !asks("swaylock", by: 0, for: 0))
    for row in ServiceTable.rows where row.shows != .nothing {
      #expect(try !asks(row.name, by: 1_000), "\(row.name)")
    }
  }

  /// What asks from the network, or for another, shows the digits.
  @Test func onlyLockersOfUsersShowNothing() {
    for row in ServiceTable.rows where row.shows == .nothing {
      #expect(row.kind == .locker && row.caller == .user, "\(row.name)")
    }
    #expect(ServiceTable.row("sshd")?.shows == .prompts)
  }

  @Test func aUsersLockerHasItsOwnNameWhateverItAsksAs() {
    #expect(ServiceTable.name(of: "common-auth", isUsersOwn: true) == "xsecurelock")
    for name in ["xsecurelock", "swaylock", "common-session", "ftp", ""] {
      #expect(ServiceTable.name(of: name, isUsersOwn: true) == name)
    }
  }

  @Test func aProgramOfRootsKeepsTheNameThatItAsksBy() {
    #expect(ServiceTable.name(of: "common-auth", isUsersOwn: false) == "common-auth")
  }

  /// Digits could be seen there, so that what else asks by the same name asks for no less.
  @Test func onlyLockersOfUsersThatShowTextAskByAnotherName() {
    let rows = ServiceTable.rows.filter { $0.asksAs != nil }
    #expect(Set(rows.map(\.asksAs)).count == rows.count)
    for row in rows {
      #expect(row.kind == .locker && row.caller == .user && row.shows == .text, "\(row.name)")
      #expect(!row.opensSession)
      #expect(row.asksAs.flatMap { ServiceTable.row($0) } == nil)
    }
  }

  @Test func aNameThatIsListedAsTheProgramAsksByItStays() throws {
    let listed = try Configuration(parsing: Array("services = common-auth xsecurelock".utf8))
    #expect(listed.name(of: "common-auth", isUsersOwn: true) == "common-auth")
    let others = try Configuration(parsing: Array("services = sudo".utf8))
    #expect(others.name(of: "common-auth", isUsersOwn: true) == "xsecurelock")
    #expect(others.name(of: "common-auth", isUsersOwn: false) == "common-auth")
  }

  @Test func rootsLockersUnlock() {
    #expect(DesktopServices.isRootsLocker("physlock"))
    #expect(!DesktopServices.isRootsLocker("swaylock"))
    #expect(!DesktopServices.isRootsLocker("login"))
  }
}
