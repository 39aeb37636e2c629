import HostDoctor
import HostState
import PAMStacks
import Testing

@Suite struct LockerTests {
  private func broker(_ socket: String, for services: [String]) -> [Finding] {
    UnitState.brokerFindings(socket: UnitState(socket), for: services)
  }

  @Test(
    arguments: [
      ("LoadState=loaded\nActiveState=active", ["swaylock"], Finding.Level.ok),
      ("LoadState=loaded\nActiveState=active", [], .ok),
      ("LoadState=loaded\nActiveState=inactive", [], nil),
      ("LoadState=loaded\nActiveState=inactive", ["swaylock"], .warning),
      ("LoadState=loaded\nActiveState=failed", ["swaylock"], .warning),
      ("LoadState=not-found\nActiveState=inactive", ["swaylock"], .warning),
      ("LoadState=not-found\nActiveState=inactive", [], nil),
    ] as [(String, [String], Finding.Level?)])
  func aMissingBrokerIsAWarningIfAServiceNeedsIt(_ socket: String, _ services: [String], _ level: Finding.Level?) {
    #expect(broker(socket, for: services).map(\.level) == [level].compactMap(\.self))
  }

  @Test func saysWhoAsksForThePasswordOnly() {
    let finding = broker("LoadState=loaded\nActiveState=inactive", for: ["polkit-1", "swaylock"]).first
    #expect(finding?.text == "iampass-broker.socket does not listen: polkit-1, swaylock ask for the password only")
    #expect(finding?.hint?.hasPrefix("systemctl enable --now iampass-broker.socket") == true)
  }

  private func lock(
    _ services: [String] = ["mate-screensaver"], _ change: (inout Configuration) -> Void = { _ in }
  ) -> [Finding] {
    var configuration = Configuration()
    change(&configuration)
    return LockFindings(configuration: configuration, services: services).findings
  }

  @Test func aLockerThatDoesNotSayThatItLockedIsAWarning() {
    let finding = lock { $0.onWalkaway = .lock }.first
    #expect(finding?.level == .warning)
    let text = "mate-screensaver does not tell logind that the screen is locked: on_walkaway, "
    #expect(finding?.text.hasPrefix(text) == true)
  }

  /// `on_expiry` and `on_unreachable` lock by default.
  @Test func namesEveryKeyThatLocks() {
    #expect(lock().first?.text.contains(": on_expiry, on_unreachable would log") == true)
    #expect(lock { $0.presence = .bluetooth }.first?.text.contains("on_presence_left, on_presence_unknown") == true)
  }

  @Test func aLockerThatNobodyTriedIsAWarningOfItsOwn() {
    let found = lock(["swaylock", "xfce4-screensaver", "hyprlock", "waylock"])
    #expect(found.map(\.level) == [.warning, .warning])
    #expect(found.last?.text.hasPrefix("hyprlock, waylock was not tried: if it does not set logind's Locked") == true)
  }

  @Test func aLockerThatIsInstalledWithoutAPAMFileIsAWarning() {
    let finding = LockerWithoutFile.finding("i3lock", folder: "/etc/pam.d") { $0 == "i3lock" }
    #expect(finding?.level == .warning)
    #expect(finding?.text.hasPrefix("i3lock is installed, but there is no /etc/pam.d/i3lock: ") == true)
    #expect(finding?.hint == "give it one with the lines @include common-auth and @include common-account")
    #expect(LockerWithoutFile.finding("vlock", folder: "/etc/pam.d") { $0 == "i3lock" } == nil)
    #expect(LockerWithoutFile.finding("greetd", folder: "/etc/pam.d") { _ in true } == nil)
  }

  private func lightLocker(_ services: [String], _ unlock: UnlockPolicy = .off) -> Finding {
    var configuration = Configuration()
    configuration.services = services
    configuration.unlock = unlock
    return LightLocker.finding(configuration)
  }

  @Test func whoOpensAScreenOfLightLockersIsSaid() {
    #expect(lightLocker(["sudo", "lightdm"]).level == .ok)
    #expect(lightLocker(["sudo"], .approved).level == .warning)
    let alone = lightLocker(["sudo"])
    #expect(alone.level == .warning)
    #expect(alone.text.hasSuffix("asks for the password only: lightdm is not in services"))
  }

  @Test func lightLockerNeedsLightdm() {
    #expect(LightLocker.isUsed(hasGreeter: true) { $0 == "light-locker" })
    #expect(!LightLocker.isUsed(hasGreeter: false) { _ in true })
    #expect(!LightLocker.isUsed(hasGreeter: true) { $0 == "i3lock" })
  }

  @Test func lightLockerDoesNotSayThatItLocked() {
    var configuration = Configuration()
    configuration.onWalkaway = .lock
    let found = LockFindings(configuration: configuration, services: ["lightdm"], hasLightLocker: true).findings
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.hasPrefix("light-locker does not tell logind that the screen is locked: on_walk") == true)
    #expect(found.first?.hint == "set on_lock_failure = ignore, or use another locker")
  }

  @Test func aSwaylockThatIgnoresEnterAloneIsAWarning() {
    func finding(_ text: String, at services: [String] = ["sudo", "swaylock"]) -> Finding? {
      EmptyPasswordFinding.finding(services, text: Array(text.utf8))
    }
    #expect(finding("color=000000\nignore-empty-password\n")?.level == .warning)
    let text = "/etc/swaylock/config has ignore-empty-password: "
    #expect(finding("ignore-empty-password")?.text.hasPrefix(text) == true)
    #expect(finding("#ignore-empty-password\nshow-failed-attempts\n") == nil)
    #expect(finding("") == nil)
    #expect(finding("ignore-empty-password\n", at: ["sudo", "gtklock"]) == nil)
  }

  @Test func aSwaylockThatOpensToAnybodyAfterTheLockIsAWarning() {
    func finding(_ text: String, at services: [String] = ["sudo", "swaylock"]) -> Finding? {
      LockGraceFinding.finding(services, text: Array(text.utf8))
    }
    let found = finding("color=000000\ngrace=2.5\ngrace-no-mouse\n")
    #expect(found?.level == .warning)
    #expect(found?.text.hasPrefix("/etc/swaylock/config has grace=2.5: anybody opens the screen ") == true)
    #expect(finding("grace=0\ngrace=5")?.level == .warning)
    for text in ["", "#grace=5\n", "grace=5\ngrace=0\n", "grace-no-touch\nfade-in=5\n"] {
      #expect(finding(text) == nil)
    }
    #expect(finding("grace=5\n", at: ["sudo", "gtklock"]) == nil)
  }

  private static let files = ["/p/common-auth": "auth required pam_a.so\n", "/p/i3lock": "@include common-auth\n"]

  private func reader(installed: [String], _ files: [String: String] = files) -> PAMReader {
    PAMReader(folder: "/p", read: { files[$0].map { Array($0.utf8) } }, isInstalled: { installed.contains($0) })
  }

  @Test func anInstalledLockerWithoutAFileGoesByTheOneThatItAsksAs() throws {
    let reader = reader(installed: ["xsecurelock"])
    #expect(reader.has("xsecurelock"))
    #expect(reader.fileName(of: "xsecurelock") == "common-auth")
    #expect(try reader.stack("auth", of: "xsecurelock").flatMap(\.lines).map(\.file) == ["/p/common-auth"])
  }

  @Test func aLockersOwnFileComesFirst() throws {
    let files = Self.files.merging(["/p/xsecurelock": "auth required pam_b.so\n"]) { $1 }
    let reader = reader(installed: ["xsecurelock"], files)
    #expect(try reader.stack("auth", of: "xsecurelock").flatMap(\.lines).map(\.moduleName) == ["pam_b"])
  }

  @Test func aLockerThatIsNotInstalledAsksNobody() {
    #expect(!reader(installed: []).has("xsecurelock"))
    #expect(throws: PAMFileError.self) { try reader(installed: []).stack("auth", of: "xsecurelock") }
    #expect(!reader(installed: ["vlock", "xsecurelock"], [:]).has("xsecurelock"))
    #expect(!reader(installed: ["vlock"]).has("vlock"))
  }

  @Test func otherLockersAndOtherSettingsAreNotFindings() {
    #expect(lock(["swaylock", "gtklock", "i3lock", "xsecurelock", "kde", "polkit-1", "gdm-password"]).isEmpty)
    #expect(lock { $0.onLockFailure = .ignore }.isEmpty)
    #expect(
      lock {
        $0.onExpiry = .logout
        $0.onUnreachable = .ignore
      }.isEmpty)
  }
}
