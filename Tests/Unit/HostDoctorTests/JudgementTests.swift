import HostState
import PAMStacks
import Testing

@testable import HostDoctor

@Suite struct SSHDSettingsTests {
  private func levels(_ text: String, timeout: Int64 = 30) -> [Finding.Level] {
    SSHDSettings(text).findings(timeout: timeout).map(\.level)
  }
  private let well = "usepam yes\nkbdinteractiveauthentication yes\nlogingracetime 120\npubkeyauthentication no\n"

  @Test func isWellWhereItAsksPAM() { #expect(levels(well) == [.ok]) }

  @Test func debiansDefaultNeverAsksThePhone() {
    #expect(levels(well.replacing("authentication yes", with: "authentication no")) == [.problem])
  }

  @Test func whatTheDropInMendsIsNotFoundWithIt() {
    let settings = SSHDSettings(
      "usepam no\nkbdinteractiveauthentication no\nlogingracetime 20\nauthenticationmethods publickey\n")
    #expect(settings.findings(timeout: 30).count == 4)
    #expect(
      settings.withDropIn.findings(timeout: 30).map(\.text).allSatisfy {
        $0.contains("LoginGraceTime") || $0.contains("AuthenticationMethods")
      })
    #expect(settings.withDropIn.asksPAM && !settings.asksPAM)
  }

  @Test(arguments: ["usepam", "kbdinteractiveauthentication"])
  func theHintIsTheCommandThatLetsItAskPAM(_ key: String) {
    let findings = SSHDSettings(well.replacing("\(key) yes", with: "\(key) no")).findings(timeout: 30)
    #expect(findings.first?.hint?.hasPrefix("iampassctl enable --sshd, or ") ?? false)
  }

  @Test func aGraceTimeBelowTheTimeoutIsAWarning() {
    #expect(levels(well.replacing("120", with: "30")) == [.warning])
  }

  @Test func withoutGraceTimeThereIsNoLimit() { #expect(levels(well.replacing("120", with: "0")) == [.ok]) }

  @Test func methodsWithoutKeyboardInteractiveAreAProblem() {
    #expect(levels(well + "authenticationmethods publickey,password\n") == [.problem])
  }

  /// With AuthenticationMethods alone, sshd does not start.
  @Test func theHintForMethodsSwitchesKeyboardInteractiveOn() {
    let found = SSHDSettings(well + "authenticationmethods publickey hostbased\n").findings(timeout: 30)
    let line = "AuthenticationMethods publickey,keyboard-interactive hostbased,keyboard-interactive"
    #expect(found.first?.hint == "set KbdInteractiveAuthentication yes and \(line)")
  }

  @Test(arguments: [
    "", "authenticationmethods any\n", "authenticationmethods publickey keyboard-interactive\n",
    "authenticationmethods publickey,keyboard-interactive keyboard-interactive:pam\n",
  ])
  func passwordsByKeyboardInteractiveAreAWarningIfTheyAreOff(_ methods: String) throws {
    let settings = SSHDSettings(well + "passwordauthentication no\n" + methods)
    let found = try #require(settings.keyboardPasswordFinding(passwordOpens: true))
    #expect(found.level == .warning && found.area == .sshd)
    #expect(found.hint?.contains("AuthenticationMethods publickey,keyboard-interactive") == true)
    // As where PAM asks for the phone and nothing else.
    #expect(settings.keyboardPasswordFinding(passwordOpens: false) == nil)
  }

  @Test(arguments: [
    "passwordauthentication yes\n", "", "passwordauthentication no\nauthenticationmethods publickey\n",
    "passwordauthentication no\nauthenticationmethods publickey,keyboard-interactive\n",
  ])
  func passwordsThatAreOnOrNeedAKeyAreNoWarning(_ more: String) {
    #expect(SSHDSettings(well + more).keyboardPasswordFinding(passwordOpens: true) == nil)
  }

  @Test(arguments: ["usepam", "kbdinteractiveauthentication"])
  func passwordsAreOffWhileSSHDDoesNotAskPAM(_ key: String) {
    let off = SSHDSettings(well.replacing("\(key) yes", with: "\(key) no") + "passwordauthentication no\n")
    #expect(off.keyboardPasswordFinding(passwordOpens: true) == nil)
    #expect(off.withDropIn.keyboardPasswordFinding(passwordOpens: true) != nil)
  }

  @Test func hostNamesInPlaceOfAddressesAreAWarning() {
    #expect(levels(well + "usedns yes\n") == [.warning])
    #expect(levels(well + "usedns no\n") == [.ok])
  }

  /// One of the lists is enough: whoever has the key leaves the phone out.
  @Test(arguments: [
    "publickey publickey,keyboard-interactive", "publickey,keyboard-interactive:pam publickey",
    "password,keyboard-interactive hostbased hostbased,keyboard-interactive",
    "publickey,hostbased hostbased,publickey,keyboard-interactive",
  ])
  func aListThatLeavesThePhoneOutOfALongerOneIsAProblem(_ methods: String) {
    let settings = well.replacing("pubkeyauthentication no", with: "pubkeyauthentication yes")
    let found = SSHDSettings(settings + "authenticationmethods \(methods)\n").findings(timeout: 30)
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text.contains("one list is enough, so that ") == true)
  }

  @Test(arguments: [
    ("publickey,keyboard-interactive", "UsePAM and"), ("keyboard-interactive", "UsePAM and"),
    ("publickey keyboard-interactive", "publickey goes past PAM"),
    ("publickey,publickey publickey,keyboard-interactive", "publickey,publickey goes past PAM"),
    // PAM decides about a password, too.
    ("password password,keyboard-interactive", "UsePAM and"),
  ])
  func otherListsAreWell(_ methods: String, _ said: String) {
    let settings = well.replacing("pubkeyauthentication no", with: "pubkeyauthentication yes")
    let found = SSHDSettings(settings + "authenticationmethods \(methods)\n").findings(timeout: 30)
    #expect(found.map(\.level) == [.ok])
    #expect(found.first?.text.contains(said) == true)
  }

  @Test func aMethodThatIsOffOpensNothing() {
    #expect(
      levels(well + "authenticationmethods publickey publickey,keyboard-interactive keyboard-interactive\n") == [.ok])
  }

  @Test func publicKeysAreNoted() {
    let findings = SSHDSettings(well.replacing("pubkeyauthentication no", with: "pubkeyauthentication yes")).findings(
      timeout: 30)
    #expect(findings.contains { $0.level == .ok && $0.text.contains("public keys go past PAM") })
  }

  @Test func anotherServiceNameThanTheListedOneIsAProblem() {
    let settings = SSHDSettings(well + "pamservicename ssh2\n")
    #expect(settings.service == "ssh2")
    let found = settings.findings(asking: ["sudo", "sshd"])
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text.contains("PAMServiceName is ssh2") == true)
    #expect(settings.findings(asking: ["sshd", "ssh2"]).isEmpty && settings.findings(asking: ["sudo"]).isEmpty)
  }

  /// sshd ends its lines so.
  @Test func aMissingFolderIsNamedBySSHDItself() {
    #expect(SSHDaemon.missesFolder("Missing privilege separation directory: /run/sshd\r\n"))
    #expect(!SSHDaemon.missesFolder("Missing privilege separation directory: /var/empty\r\n"))
    #expect(!SSHDaemon.missesFolder("/etc/ssh/sshd_config line 3: Bad configuration option: x\r\n"))
  }

  @Test func anSSHDThatFailsIsAWarningWithItsReason() {
    let found = SSHDSettings.unreadable("sshd_config: line 3: Bad configuration option\r\nterminating, 1 bad\r\n")
    #expect(found.level == .warning)
    #expect(found.text == "sshd -T failed, so its settings were not looked at: terminating, 1 bad")
  }

  @Test func beforeOpenSSH98TheServiceNameIsSSHD() { #expect(SSHDSettings(well).service == "sshd") }

  private func startups(_ more: String) -> Finding? {
    SSHDSettings(well + more).findings(timeout: 30).first { $0.text.contains("MaxStartups") }
  }

  @Test func saysHowManyConnectionsMayWaitForThePhone() {
    let usual = startups("maxstartups 10:30:100\npersourcemaxstartups none\n")
    #expect(usual?.level == .ok)
    #expect(usual?.text.contains("while 10 others wait for their sign-in, and all while 100 do") == true)
    #expect(usual?.text.contains("a phone may take 30 s") == true)
  }

  @Test(arguments: ["maxstartups 3\n", "maxstartups 9:30:100\n"])
  func fewPlacesForThoseWhoWaitAreAWarning(_ line: String) {
    #expect(startups(line)?.level == .warning)
    #expect(startups(line)?.hint?.contains("MaxStartups 10:30:100") == true)
  }

  @Test func oneAddressShouldNotTakeAllPlaces() {
    let usual = "maxstartups 10:30:100\n"
    #expect(startups(usual + "persourcemaxstartups none\n")?.hint?.contains("PerSourceMaxStartups") == true)
    #expect(startups(usual + "persourcemaxstartups 5\n")?.hint == nil)
  }

  /// As `sshd -T` prints them from 9.8 on.
  @Test func namesThePenaltiesOfAnAddress() throws {
    let line =
      "persourcepenalties crash:90.000000 authfail:5.000000 noauth:1.000000 grace-exceeded:10.000000 max:600.000000\n"
    func penalties(_ more: String) -> Finding? {
      SSHDSettings(well + more).findings(timeout: 30).first { $0.text.contains("PerSourcePenalties") }
    }
    let found = try #require(penalties(line))
    #expect(found.level == .ok)
    #expect(penalties("persourcepenalties no\n") == nil && penalties("") == nil)
  }

  @Test func anUnknownWayToWriteMaxStartupsIsNotJudged() {
    #expect(startups("") == nil && startups("maxstartups many\n") == nil && startups("maxstartups 1:2\n") == nil)
  }
}

@Suite struct SmallJudgementTests {
  @Test func readsOpensslsDates() {
    #expect(CertificateTerm.end("notAfter=Nov  6 08:49:37 1994 GMT\n") == 784_111_777)
    #expect(CertificateTerm.end("notAfter=Mar  1 00:00:00 2000 GMT") == 951_868_800)
    #expect(CertificateTerm.end("Could not read certificate") == nil)
  }

  @Test(arguments: [(Int64(-1), Finding.Level.problem), (13, .warning), (14, .ok), (90, .ok)])
  func warnsFourteenDaysBeforeACertificateEnds(_ days: Int64, _ level: Finding.Level) {
    #expect(CertificateTerm.finding(end: 1_000_000 + days * 86_400, now: 1_000_000).level == level)
  }

  @Test(arguments: [
    (nil, Finding.Level.ok), (Int64(30), .ok), (31, .warning), (-31, .warning), (301, .problem), (-301, .problem),
  ])
  func theClockMattersFromThirtySeconds(_ difference: Int64?, _ level: Finding.Level) {
    #expect(ClockFinding.finding(difference: difference).level == level)
  }

  @Test func saysWhichClockIsBehind() {
    #expect(ClockFinding.finding(difference: 600).text == "this computer's clock is 10 min behind the service's")
    #expect(ClockFinding.finding(difference: -60).text == "this computer's clock is 60 s ahead of the service's")
  }

  @Test func loginsLimitMustOutlastThePhone() {
    #expect(LoginDefinitions.timeout("# LOGIN_TIMEOUT 5\nLOGIN_TIMEOUT\t\t20\n") == 20)
    #expect(LoginDefinitions.timeout("") == 60)
    // Swift counts a carriage return and a line feed as one Character.
    #expect(LoginDefinitions.timeout("UMASK 022\r\nLOGIN_TIMEOUT 20\r\n") == 20)
    #expect(LoginDefinitions.finding(limit: 30, timeout: 30).level == .warning)
    #expect(LoginDefinitions.finding(limit: 0, timeout: 30).level == .ok)
  }

  @Test(
    arguments: [
      (["sudo", "sudo-i"], .warning), (["sudo", "sshd"], .problem), ([], .problem), (["unheard-of"], .problem),
    ] as [([String], Finding.Level)])
  func logindIsNeededByWhatOpensSessionsAlone(_ services: [String], _ level: Finding.Level) {
    #expect(UnitState("ActiveState=inactive").logindFinding(for: services).level == level)
    #expect(UnitState("ActiveState=active").logindFinding(for: services).level == .ok)
  }

  @Test func aHelperThatIsNotInstalledIsAWarning() {
    #expect(UnitState("LoadState=not-found\nActiveState=inactive").helperFindings().map(\.level) == [.warning])
  }

  @Test func aHelperThatDoesNotRunIsAProblem() {
    #expect(UnitState("LoadState=loaded\nActiveState=failed").helperFindings().map(\.level) == [.problem])
  }

  @Test func aHelperWithoutItsRestrictionsSaysSo() throws {
    let state = "LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nExecMainStatus="
    let finding = try #require(UnitState(state + "226").helperFindings().first)
    #expect(finding.level == .problem)
    let said = "the phone leaves; systemd cannot set up the restrictions of iampass-helper (226/NAMESPACE): "
    #expect(finding.text.contains(said) && finding.hint?.contains("enable --now") == false)
    #expect(UnitState(state + "1").helperFindings().first?.text.contains("NAMESPACE") == false)
  }

  @Test func aWorkerWithoutItsRestrictionsSaysSo() {
    let (socket, failed) = ("LoadState=loaded\nActiveState=failed", "ActiveState=failed\nExecMainStatus=")
    func said(_ status: String) -> [String] {
      UnitState.workerFindings(socket: UnitState(socket), service: UnitState(failed + status)).map(\.text)
    }
    #expect(said("226").count == 1 && said("226")[0].contains("restrictions of iampass-worker (226/NAMESPACE)"))
    #expect(said("1").count == 1 && !said("1")[0].contains("NAMESPACE"))
  }

  @Test func aHelperWithItsWatchdogIsWell() {
    let state = UnitState("LoadState=loaded\nActiveState=active\nWatchdogUSec=30s\nNRestarts=0\nUnitFileState=enabled")
    #expect(state.helperFindings().map(\.level) == [.ok])
  }

  @Test func aHelperIsShownWithItsOwnWord() {
    let state = UnitState(
      "LoadState=loaded\nActiveState=active\nWatchdogUSec=30s\nStatusText=watching 3 sessions, last answer 2s ago")
    #expect(
      state.helperFindings().map(\.text)
        == ["iampass-helper is running: watching 3 sessions, last answer 2s ago"])
  }

  @Test func aHelperThatCannotUseTheConfigurationIsAWarning() {
    func finding(_ line: String) -> Finding? {
      UnitState("LoadState=loaded\nActiveState=active\nWatchdogUSec=30s\nStatusText=\(line)").helperFindings().first
    }
    let complaint = "/root/ca.pem: permission denied"
    let blind = finding(HelperStatus.line(watching: nil, lastAnswer: nil, complaint: complaint))
    #expect(blind?.level == .warning)
    #expect(blind?.text == "iampass-helper is running and watches nobody: \(complaint)")
    let former = finding(HelperStatus.line(watching: 3, lastAnswer: 2, complaint: complaint))
    #expect(former?.level == .warning)
    #expect(former?.text.hasPrefix("iampass-helper is running: by the former configuration watching 3 ") == true)
  }

  @Test func aHelperWithoutWatchdogIsAWarningThatNamesItsUnitsOwn() {
    let findings = UnitState("LoadState=loaded\nActiveState=active\nWatchdogUSec=infinity").helperFindings()
    #expect(findings.map(\.level) == [.ok, .warning])
    #expect(findings.last?.hint == "set WatchdogSec=30 in its unit")
  }

  @Test(
    arguments: [
      ("LoadState=not-found\nActiveState=inactive", "", nil),
      ("LoadState=loaded\nActiveState=active\nUnitFileState=enabled", "ActiveState=active", Finding.Level.ok),
      ("LoadState=loaded\nActiveState=active\nUnitFileState=enabled", "ActiveState=inactive", .ok),
      ("LoadState=loaded\nActiveState=active\nUnitFileState=enabled", "ActiveState=failed", .warning),
      ("LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled", "ActiveState=inactive", .ok),
      ("LoadState=masked\nActiveState=inactive\nUnitFileState=masked", "", nil),
      ("LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled", "ActiveState=inactive", .warning),
      ("LoadState=loaded\nActiveState=failed\nUnitFileState=disabled", "ActiveState=inactive", .warning),
    ] as [(String, String, Finding.Level?)])
  func workersThatWaitAreAWarningAtMost(_ socket: String, _ service: String, _ level: Finding.Level?) {
    let findings = UnitState.workerFindings(socket: UnitState(socket), service: UnitState(service))
    #expect(findings.map(\.level) == [level].compactMap(\.self))
  }

  @Test func tokensWithoutUserAndUsersWithoutPhoneAreNamed() {
    let findings = UserFindings(withToken: ["a", "b"], people: ["a", "c"], unknown: ["b"], withoutPhone: ["a"]).findings
    #expect(findings.map(\.level) == [.ok, .ok, .warning, .warning])
  }

  /// The user may have an account on other computers, and sign in there with the same token.
  @Test func aTokenWithoutUserIsRemovedHereAlone() {
    let findings = UserFindings(withToken: ["b"], people: [], unknown: ["b"], withoutPhone: nil).findings
    #expect(findings.last?.hint == "iampassctl user remove --local b")
  }

  /// Equal as Strings, but two users to the kernel.
  @Test func aNameInAnotherSpellingIsAnotherUser() {
    let findings = UserFindings(withToken: ["ren\u{E9}"], people: ["rene\u{301}"], unknown: [], withoutPhone: [])
      .findings
    #expect(findings.contains { $0.text.hasPrefix("without a token") })
  }

  @Test(arguments: ["timeout=4s", "timeout=x", "prompt=maybe", "config=relative", "methods=voice", "fail", "debug=1"])
  func aModuleArgumentThatRefusesSignInsIsAProblemOrUnknown(_ word: String) {
    let line = PAMLine(kind: "auth", control: "required", module: "m", arguments: [word], file: "f", line: 1)
    #expect(ModuleWords.findings(line, service: "s").count == 1)
  }

  /// As libpam hands it to the module.
  @Test(arguments: [
    ("[config=/etc/a b/i.conf]", "/etc/a b/i.conf"), (#"[config=/etc/[a\]/i.conf]"#, "/etc/[a]/i.conf"),
  ])
  func aBracketedArgumentLosesItsBrackets(_ word: String, _ path: String) {
    let line = PAMLine(kind: "auth", control: "required", module: "m", arguments: [word], file: "f", line: 1)
    #expect(line.moduleArguments.configurationPath == path)
    #expect(ModuleWords.findings(line, service: "s").isEmpty)
  }

  @Test func theWorstFindingIsTheExitCode() {
    var report = CheckReport()
    #expect(report.worst.exitCode == 0)
    report.add(Finding(.warning, .pam, "a"))
    #expect(report.worst.exitCode == 1)
    report.add(Finding(.problem, .pam, "b"))
    report.add(Finding(.ok, .pam, "c"))
    #expect(report.worst.exitCode == 2)
    #expect(report.summary == "1 ok, 1 warning, 1 problem")
  }
}
