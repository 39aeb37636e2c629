import HostDoctor
import HostState
import PAMStacks
import Testing

/// A PAM service whose files are given as text.
private func stack(_ service: String, auth: String, session: String = "") throws -> StackJudgement {
  let kinds = [("auth", auth), ("session", session)]
  let text = kinds.flatMap { kind, lines in lines.split(separator: "\n").map { "\(kind) \($0)" } }.joined(
    separator: "\n")
  let reader = PAMReader(folder: "/p") { path in path == "/p/\(service)" ? Array(text.utf8) : nil }
  return StackJudgement(
    service: service, auth: try reader.stack("auth", of: service), session: try reader.stack("session", of: service))
}

extension StackJudgement {
  /// As without a file in services.d.
  func findings() -> [Finding] { findings(opensSession: ServiceTable.opensSession(service)) }
}

private func said(_ judgement: StackJudgement, _ level: Finding.Level) -> [String] {
  judgement.findings().filter { $0.level == level }.map(\.text)
}

private let shipped = """
  [success=2 maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so
  [success=1 default=ignore] pam_unix.so nullok try_first_pass
  requisite pam_deny.so
  required pam_permit.so
  """

@Suite struct StackTests {
  @Test func theShippedProfileIsWell() throws {
    #expect(try stack("sudo", auth: shipped).findings().map(\.level) == [.ok])
  }

  @Test func aProgramThatShowsNoDigitsIsSaidToAskWithoutThem() throws {
    #expect(
      said(try stack("swaylock", auth: shipped), .ok) == [
        "swaylock: asks the phone without digits, since it shows none (/p/swaylock:1)"
      ])
    #expect(said(try stack("gtklock", auth: shipped), .ok) == ["gtklock: asks the phone (/p/gtklock:1)"])
  }

  @Test func aServiceThatOpensNoSessionNeedsNoSessionLine() throws {
    #expect(try stack("doas", auth: shipped).findings().map(\.level) == [.ok])
    #expect(try stack("sudo-phone", auth: shipped).findings(opensSession: false).map(\.level) == [.ok])
    let common = "optional pam_systemd.so\noptional pam_iampass.so"
    #expect(try stack("doas", auth: shipped, session: common).findings().map(\.level) == [.ok])
  }

  @Test func anUnknownServiceIsToldHowToSayThatItOpensNone() throws {
    let hint = try stack("sudo-phone", auth: shipped).findings().compactMap(\.hint).joined()
    #expect(hint.contains("kind = sudo-like to /etc/iampass/services.d/sudo-phone.conf"))
    #expect(try stack("login", auth: shipped).findings().compactMap(\.hint).allSatisfy { !$0.contains("sudo-like") })
  }

  @Test func aMissingDenyLetsAnybodyIn() throws {
    let open = try stack("sudo", auth: "sufficient pam_iampass.so\noptional pam_unix.so\nrequired pam_permit.so")
    #expect(said(open, .problem).contains { $0.contains("lets anybody in") })
  }

  /// libpam reads bytes: it sees a comment in the first line, and two more words in the second.
  @Test func marksThatCombineChangeNoLine() throws {
    let text =
      "auth required pam_deny.so\n#\u{301}auth sufficient pam_permit.so\nauth optional pam_x.so \u{301}a \u{600} b"
    let reader = PAMReader(folder: "/p") { $0 == "/p/sudo" ? Array(text.utf8) : nil }
    let modules = try reader.stack("auth", of: "sudo").compactMap { entry in
      if case .module(let line) = entry { line.module + " \(line.arguments.count)" } else { nil }
    }
    #expect(modules == ["pam_deny.so 0", "pam_x.so 3"])
  }

  @Test func failOpenAsTheOnlyFactorIsAnOpenDoor() throws {
    let open = try stack("sudo", auth: "required pam_iampass.so fail=open\nrequired pam_permit.so")
    #expect(said(open, .problem).contains { $0.contains("fail=open") })
  }

  @Test func failClosedAsTheOnlyFactorOpensNothing() throws {
    let closed = try stack("sudo", auth: "required pam_iampass.so\nrequired pam_permit.so")
    #expect(said(closed, .problem).isEmpty)
    #expect(said(closed, .warning).contains { $0.contains("no way in is left") })
  }

  @Test func ctrlCSkipsASecondFactorWithDefaultIgnore() throws {
    let both = try stack(
      "sudo", auth: "[success=1 default=ignore] pam_iampass.so\n[default=ignore] pam_echo.so\nrequired pam_unix.so")
    #expect(said(both, .problem).contains { $0.contains("Ctrl-C, no answer from the phone or a row of") })
  }

  /// The caller breaks requests off until no more are sent, or sends a command that is too long.
  @Test(arguments: ["authinfo_unavail=ignore", "user_unknown=ignore authinfo_unavail=ignore"])
  func requestsThatAreNotSentSkipASecondFactorThatIgnoresThem(_ words: String) throws {
    let both = try stack("sudo", auth: "requisite pam_unix.so\n[success=ok \(words) default=die] pam_iampass.so")
    #expect(
      said(both, .problem) == ["sudo: a row of unanswered requests skips the phone, which is the second factor"])
    #expect(both.findings().first?.hint?.contains("only fail=open there tells an outage apart") == true)
  }

  @Test(arguments: [
    ("su", true), ("polkit-1", true), ("sudo", false), ("sudo-i", false), ("login", false), ("sshd", false),
    ("gdm-password", false),
  ])
  func aMemoryLimitOfTheCallersKeepsTheModuleOut(_ service: String, _ isLimited: Bool) throws {
    let both = try stack(
      service, auth: "requisite pam_unix.so\n[success=ok module_unknown=ignore default=die] pam_iampass.so")
    #expect(said(both, .problem).contains { $0.contains("a low memory limit skips the phone") } == isLimited)
  }

  @Test(arguments: [
    "required pam_iampass.so", "required pam_iampass.so fail=open",
    "[success=ok user_unknown=ignore default=die] pam_iampass.so",
    "[success=1 default=ignore] pam_succeed_if.so quiet user ingroup rescue\nrequired pam_iampass.so\n"
      + "required pam_permit.so",
  ])
  func theManualsSecondFactorsAreWell(_ lines: String) throws {
    for service in ["sudo", "su"] {
      #expect(try stack(service, auth: "requisite pam_unix.so\n\(lines)").findings().map(\.level) == [.ok])
    }
  }

  @Test func aRequiredSecondFactorIsWell() throws {
    let both = try stack("sudo", auth: "required pam_unix.so\nrequired pam_iampass.so")
    #expect(both.findings().map(\.level) == [.ok])
  }

  @Test func aSufficientPasswordBeforeARequiredPhoneNeverAsksIt() throws {
    let never = try stack("sudo", auth: "sufficient pam_unix.so\nrequired pam_iampass.so")
    #expect(said(never, .warning).contains { $0.contains("only after pam_unix.so has refused") })
  }

  @Test func aDenialThatGoesOnToThePasswordIsAWarning() throws {
    let goesOn = try stack("sudo", auth: shipped.replacing("maxtries=die perm_denied=die abort=die ", with: ""))
    #expect(said(goesOn, .warning).contains { $0.contains("a denial on the phone or Ctrl-C") })
  }

  @Test func anOlderLineLetsADenialAtGDMGoOnToThePassword() throws {
    let older = shipped.replacing("perm_denied=die ", with: "")
    let goesOn = said(try stack("gdm-password", auth: older), .warning)
    #expect(goesOn.contains { $0.contains("after a denial on the phone the password is still asked for") })
    #expect(said(try stack("gdm-password", auth: shipped), .warning).isEmpty)
    #expect(try stack("sudo", auth: older).findings().map(\.level) == [.ok])
  }

  @Test(arguments: ["polkit-1", "swaylock", "kde"])
  func whatOpensNoSessionNeedsNoSessionLine(_ service: String) throws {
    #expect(try stack(service, auth: shipped).findings().map(\.level) == [.ok])
  }

  @Test func aWatchedSessionNeedsALineOfItsOwn() throws {
    #expect(said(try stack("sshd", auth: shipped), .problem).contains { $0.contains("no session line") })
  }

  @Test func aSessionLineBeforeLogindIsAProblem() throws {
    let early = try stack("sshd", auth: shipped, session: "required pam_iampass.so\noptional pam_systemd.so")
    #expect(said(early, .problem).contains { $0.contains("before pam_systemd.so") })
  }

  @Test func aSessionLineBehindLogindIsWell() throws {
    let right = try stack(
      "sshd", auth: shipped, session: "optional pam_systemd.so\n[session_err=die default=ignore] pam_iampass.so")
    #expect(right.findings().map(\.level) == [.ok])
  }

  @Test func sudoNeedsNoSessionLine() throws {
    #expect(said(try stack("sudo", auth: shipped), .problem).isEmpty)
  }

  @Test func twoLinesAskTwice() throws {
    let line = "[success=3 maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so\n"
    let twice = try stack("sudo", auth: line + shipped)
    #expect(said(twice, .warning).contains { $0.contains("asks the phone 2 times") })
  }
}

@Suite struct UnlistedServiceTests {
  @Test(arguments: ["requisite", "required", "[success=ok user_unknown=ignore default=die]"])
  func aSecondFactorThatIsNotListedIsAProblem(_ control: String) throws {
    let both = try stack("sudo", auth: "required pam_unix.so\n\(control) pam_iampass.so")
    let findings = both.findingsUnlisted(refusing: .problem)
    #expect(findings.map(\.level) == [.problem])
    #expect(findings.first?.text.contains("sudo: refuses every sign-in: it is not in services") ?? false)
    #expect(findings.first?.hint == "name sudo in services too, or take pam_iampass.so out of /p/sudo")
  }

  @Test func thePhoneAloneThatIsNotListedIsAProblem() throws {
    #expect(
      try stack("sudo", auth: "required pam_iampass.so").findingsUnlisted(refusing: .problem).map(\.level) == [.problem]
    )
  }

  @Test func theShippedProfileStandsAside() throws {
    #expect(try stack("su", auth: shipped).findingsUnlisted(refusing: .problem).isEmpty)
  }

  @Test func aStackThatIgnoresWhatIsNotAnsweredIsWell() throws {
    let both = try stack(
      "sudo", auth: "required pam_unix.so\n[success=ok authinfo_unavail=ignore default=die] pam_iampass.so")
    #expect(both.findingsUnlisted(refusing: .problem).isEmpty)
  }

  @Test func whatOpensWithoutThePhoneIsAnOpenDoor() throws {
    let open = try stack("sudo", auth: "[success=ok default=ignore] pam_iampass.so\nrequired pam_permit.so")
    #expect(
      open.findingsUnlisted(refusing: .problem).contains { $0.level == .problem && $0.text.contains("lets anybody in") }
    )
  }

  /// The module does not let anyone in there either.
  @Test func whatRefusesEverybodyAnywayIsNotTheModulesDoing() throws {
    #expect(
      try stack("other", auth: "required pam_iampass.so\nrequired pam_deny.so").findingsUnlisted(refusing: .problem)
        .isEmpty)
  }
}

@Suite struct PAMReaderTests {
  private func reader(_ files: [String: String]) -> PAMReader {
    PAMReader(folder: "/p") { files[$0].map { Array($0.utf8) } }
  }

  @Test func includesStandWhereTheyAreNamed() throws {
    let files = ["/p/sudo": "@include common\nauth required pam_b.so", "/p/common": "auth required pam_a.so\n"]
    let names = try reader(files).stack("auth", of: "sudo").flatMap(\.lines).map(\.moduleName)
    #expect(names == ["pam_a", "pam_b"])
  }

  @Test func theVendorsFileStandsInForAMissingOne() throws {
    let files = ["/usr/lib/pam.d/polkit-1": "auth required pam_a.so", "/etc/pam.d/sudo": "auth required pam_b.so"]
    let reader = PAMReader(folder: "/etc/pam.d") { files[$0].map { Array($0.utf8) } }
    #expect(reader.has("polkit-1") && !reader.has("su"))
    #expect(try reader.stack("auth", of: "polkit-1").flatMap(\.lines).map(\.file) == ["/usr/lib/pam.d/polkit-1"])
  }

  @Test func aSubstackIsOneEntry() throws {
    let files = ["/p/su": "auth substack other\n", "/p/other": "auth sufficient pam_a.so\nauth required pam_b.so"]
    #expect(try reader(files).stack("auth", of: "su").count == 1)
  }

  @Test func continuedLinesAndBracketedArgumentsAreWhole() throws {
    let files = ["/p/x": "auth [success=1 \\\n default=ignore] pam_a.so [a b] c # d"]
    let line = try #require(try reader(files).stack("auth", of: "x").flatMap(\.lines).first)
    #expect(line.control.contains("default=ignore"))
    #expect(line.arguments == ["[a b]", "c"])
  }

  @Test func filesThatIncludeEachOtherEnd() {
    let loop = reader(["/p/a": "@include b", "/p/b": "@include a"])
    #expect(throws: PAMFileError.self) { try loop.stack("auth", of: "a") }
  }

  @Test func anIncludedFileIsNotAService() {
    let files = [
      "/p/vlock": "@include common-auth", "/p/su-l": "auth include su", "/p/x": "auth substack /p/password-auth",
      "/p/sudo": "# @include alone\nauth required pam_a.so",
    ]
    let names = ["alone", "common-auth", "password-auth", "su", "su-l", "sudo", "vlock", "x"]
    #expect(reader(files).services(among: names) == ["alone", "su-l", "sudo", "vlock", "x"])
  }

  @Test func aLineOfNoKindIsReported() {
    #expect(throws: PAMFileError.badLine("/p/a", line: 2)) {
      try reader(["/p/a": "\nnonsense here now"]).stack("auth", of: "a")
    }
  }
}

@Suite struct PAMDispatchTests {
  private func opens(_ lines: [(String, String, PAMResult)]) -> Bool {
    let entries = lines.map { control, module, _ in
      PAMEntry.module(PAMLine(kind: "auth", control: control, module: module, arguments: [], file: "f", line: 1))
    }
    let answers = Dictionary(uniqueKeysWithValues: lines.map { ($0.1, $0.2) })
    var dispatch = PAMDispatch { answers[$0.module] ?? .authErr }
    return dispatch.run(entries)
  }

  @Test func aStackThatOnlyIgnoresFails() {
    #expect(!opens([("optional", "a", .authErr), ("[default=ignore]", "b", .success)]))
  }

  @Test func requiredGoesOnAndStillFails() {
    #expect(!opens([("required", "a", .authErr), ("sufficient", "b", .success)]))
  }

  @Test func sufficientEndsTheStack() {
    #expect(opens([("sufficient", "a", .success), ("required", "b", .authErr)]))
  }

  @Test func aJumpAloneDoesNotSucceed() {
    #expect(!opens([("[success=1 default=ignore]", "a", .success), ("requisite", "b", .authErr)]))
  }

  @Test func aJumpPastTheEndFails() {
    #expect(
      !opens([("required", "a", .success), ("[success=2 default=ignore]", "b", .success), ("optional", "c", .success)]))
  }

  @Test func doneInASubstackGoesOnBehindIt() {
    let inner = PAMEntry.substack([
      .module(PAMLine(kind: "auth", control: "sufficient", module: "a", arguments: [], file: "f", line: 1))
    ])
    let outer = PAMEntry.module(
      PAMLine(kind: "auth", control: "requisite", module: "deny", arguments: [], file: "f", line: 2))
    var dispatch = PAMDispatch { $0.module == "a" ? .success : .authErr }
    let opened = dispatch.run([inner, outer])
    #expect(!opened)
  }
}
