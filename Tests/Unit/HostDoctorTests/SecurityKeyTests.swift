import Glibc
import HostState
import HostSystem
import PAMStacks
import Testing

@testable import HostDoctor

private let mapping = "/etc/iampass/security-keys"

/// common-auth as pam-auth-update makes it of the profile and ours.
private func stack(
  _ place: SecurityKeyProfile.Place, uids: [UInt32] = [1000, 1001], changing change: (String) -> String = { $0 }
) throws -> StackJudgement {
  let profile = SecurityKeyProfile(place, services: ["sudo", "sshd"], mapping: mapping, uids: uids)
  let own = profile.text.split(separator: "\n").filter { $0.hasPrefix("\t") }.map { "auth " + $0 }
    .joined(separator: "\n").replacing("=end", with: "=3")
  let usual = """
    auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so
    auth [success=1 default=ignore] pam_unix.so nullok try_first_pass
    auth requisite pam_deny.so
    auth required pam_permit.so
    """
  let text = change(place == .instead ? own + "\n" + usual : usual + "\n" + own)
  let reader = PAMReader(folder: "/p") { $0 == "/p/sudo" ? Array(text.utf8) : nil }
  return StackJudgement(service: "sudo", auth: try reader.stack("auth", of: "sudo"), session: [])
}

@Suite struct SecurityKeyStackTests {
  @Test(arguments: SecurityKeyProfile.Place.allCases)
  func theShippedLinesAreWell(_ place: SecurityKeyProfile.Place) throws {
    let shipped = try stack(place)
    #expect(shipped.keyFindings().map(\.level) == [.ok])
    #expect(shipped.findings().map(\.level) == [.ok])
    #expect(shipped.keyFindings()[0].text.contains(place == .instead ? "takes a security key, too" : "besides"))
  }

  @Test func aKeyOfThisComputerIsNotAskedInSSH() {
    #expect(SecurityKeyProfile(.instead, services: ["sudo", "sshd"], mapping: mapping).services == ["sudo"])
  }

  @Test(arguments: [
    ("a missing or wrong key", "[success=3 default=ignore]", "[success=3 auth_err=3 default=ignore]"),
    ("a missing pam_u2f.so", "[success=3 default=ignore]", "[success=3 module_unknown=3 default=ignore]"),
  ])
  func aKeyThatIsNotThereOpensNothing(_ what: String, _ line: String, _ bad: String) throws {
    let found = try stack(.instead) { $0.replacing(line, with: bad) }.keyFindings()
    #expect(found.contains { $0.level == .problem && $0.text.contains("lets anybody in after \(what)") })
  }

  @Test func aRequiredKeyInPlaceOfThePasswordLocksOut() throws {
    let found = try stack(.instead) { $0.replacing("[success=3 default=ignore]", with: "[success=3 default=die]") }
    #expect(found.keyFindings().map(\.text).contains { $0.contains("the key, which is the second factor") })
    let some = try stack(.instead) {
      $0.replacing("[success=3 default=ignore]", with: "[success=3 module_unknown=die default=ignore]")
    }
    #expect(some.keyFindings().map(\.text).contains { $0.contains("no way in is left after a missing pam_u2f.so") })
  }

  @Test func aKeyBehindThePhoneIsAskedTooLate() throws {
    let found = try stack(.instead) { text in
      var lines = text.split(separator: "\n").map(String.init)
      lines.insert("auth [success=2 default=ignore] pam_u2f.so authfile=/x origin=a appid=a", at: 3)
      return lines[2...].joined(separator: "\n")
    }.keyFindings()
    #expect(found.map(\.text).contains { $0.contains("only after the phone has refused") })
  }

  @Test(arguments: [
    ("[success=ok default=die]", "requisite", "an error that pam_u2f ignores skips the key"),
    ("[success=ok default=die]", "[success=ok authinfo_unavail=ignore default=die]", "keys that cannot be read skips"),
    ("auth_err=2 default=ignore", "default=2", "an error of pam_succeed_if skips the key"),
    ("[success=1 default=ignore]", "[success=1 service_err=1 default=ignore]", "an error of pam_succeed_if skips"),
    ("pam_succeed_if.so quiet uid notin 1000:1001", "pam_listfile.so item=user sense=deny file=/x", "another spelling"),
    ("uid notin 1000:1001", "user notin alice:bob", "another spelling"),
  ])
  func whatSkipsAKeyThatIsAskedForBesidesIsNamed(_ line: String, _ bad: String, _ named: String) throws {
    let found = try stack(.second) { $0.replacing(line, with: bad) }.keyFindings()
    #expect(found.contains { $0.level != .ok && $0.text.contains(named) })
  }

  @Test func noErrorOfAnyLineSkipsTheKey() throws {
    for uids in [[], [1000], Array(1000..<1500)] as [[UInt32]] {
      let shipped = try stack(.second, uids: uids)
      #expect(shipped.keyFindings().map(\.level) == [.ok])
      #expect(shipped.keyHolders == Set(uids))
    }
  }

  /// libpam of Debian 12 refuses a stack with a longer line.
  @Test func noLineIsLongerThanLibpamTakes() {
    let profile = SecurityKeyProfile(
      .second, services: ["sudo", "login"], mapping: mapping, uids: (0..<2_000).map { 4_294_960_000 + $0 })
    #expect(profile.text.split(separator: "\n").allSatisfy { $0.utf8.count < 1_000 })
  }

  /// Each user id, through each line, as libpam walks it.
  @Test func whoeverIsOnAListIsAskedAndNobodyElse() throws {
    let uids = (0..<300).map { 100_000 + 7 * UInt32($0) }
    let shipped = try stack(.second, uids: uids)
    func asks(_ uid: UInt32) -> Bool {
      var dispatch = PAMDispatch { line in
        guard line.moduleName == "pam_succeed_if" else { return .success }
        guard let list = line.arguments.last, line.arguments.contains("notin") else { return .success }
        return list.split(separator: ":").contains { $0 == String(uid) } ? .authErr : .success
      }
      _ = dispatch.run(shipped.auth)
      return dispatch.asked.contains { $0.moduleName == "pam_u2f" }
    }
    #expect(uids.allSatisfy(asks))
    #expect(![1000, 10_000, 100_001, 0].contains(where: asks))
  }

  @Test func aWrittenProfileIsReadAgain() throws {
    for place in SecurityKeyProfile.Place.allCases {
      let written = SecurityKeyProfile(place, services: ["sudo", "login"], mapping: mapping, uids: [5])
      let read = try #require(SecurityKeyProfile(parsing: written.text))
      #expect(read.requiring([5]).text == written.text)
    }
    #expect(SecurityKeyProfile(parsing: "Name: another\n") == nil)
  }

  @Test(arguments: [
    (" cue", " cue nouserok", "nouserok"), ("authfile=/etc/iampass/security-keys ", "", "authfile="),
    ("origin=pam://iampass ", "", "origin="), (" appid=pam://iampass", "", "appid="),
  ])
  func wordsThatHarmAreNamed(_ word: String, _ other: String, _ named: String) throws {
    let found = try stack(.instead) { $0.replacing(word, with: other) }.keyFindings()
    #expect(found.contains { $0.level != .ok && $0.text.contains(named) })
  }
}

@Suite(.enabled(if: geteuid() == 0, "the files are root's"))
final class SecurityKeyFilesTests {
  private let folder: String
  private let files: SecurityKeyFiles
  private let alice = UnixUsername(validating: "alice")!
  private let al = UnixUsername(validating: "al")!

  init() throws {
    var name = Array("/tmp/iampass-keys-XXXXXX".utf8CString)
    folder = String(cString: try #require(mkdtemp(&name)))
    files = SecurityKeyFiles(folder: folder, uidOf: { ["alice": 1000, "al": 1001][$0.text] }, nameOf: { _ in nil })
  }

  deinit {
    for path in [files.mapping, files.users] { unlink(path) }
    rmdir(folder)
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try SecureFile.read(path, privacy: .readableByAll, limit: 65_536), as: UTF8.self)
  }

  @Test func aSecondKeyJoinsTheFirst() throws {
    try files.add("alice:a,b,es256,+presence", of: alice)
    try files.add("al:c,d,es256,+presence", of: al)
    try files.add("alice:e,f,es256,+presence", of: alice)
    #expect(try text(files.mapping) == "alice:a,b,es256,+presence:e,f,es256,+presence\nal:c,d,es256,+presence\n")
    #expect(try text(files.users) == "alice:1000\nal:1001\n")
    #expect(try files.holders().uids == [1000, 1001])
    #expect(try files.counts().map(\.keys) == [2, 1])
  }

  @Test func removingTakesAllKeysOfOneUser() throws {
    try files.add("alice:a,b,es256,+presence", of: alice)
    try files.add("al:c,d,es256,+presence", of: al)
    #expect(try files.remove(al))
    #expect(try !files.remove(al))
    #expect(try text(files.mapping) == "alice:a,b,es256,+presence\n")
    #expect(try text(files.users) == "alice:1000\n")
    #expect(try files.holders().uids == [1000])
    #expect(try files.holders(without: alice).uids.isEmpty)
  }

  /// A user whose directory does not answer still needs the key.
  @Test func aUserIdStaysKnownWithoutTheDirectory() throws {
    try files.add("alice:a,b,es256,+presence", of: alice)
    let offline = SecurityKeyFiles(folder: folder, uidOf: { _ in nil }, nameOf: { _ in nil })
    try offline.add("al:c,d,es256,+presence", of: al)
    #expect(try offline.holders() == SecurityKeyFiles.Holders(uids: [1000], unknown: ["al"]))
    #expect(try text(files.users) == "alice:1000\n")
    #expect(try files.holders().uids == [1000, 1001])
  }

  /// adduser gives the id of a user who was deleted to the next one.
  @Test func theIdOfAUserWhoIsGoneIsNotAnothers() throws {
    try files.add("alice:a,b,es256,+presence", of: alice)
    try files.add("al:c,d,es256,+presence", of: al)
    let al = al
    let after = SecurityKeyFiles(folder: folder, uidOf: { ["al": 1001][$0.text] }, nameOf: { [1000: al][$0] })
    #expect(try after.holders() == SecurityKeyFiles.Holders(uids: [1001], unknown: ["alice"]))
    let line = PAMLine(
      kind: "auth", control: "required", module: "pam_permit.so", arguments: ["authfile=" + files.mapping],
      file: "/p/sudo", line: 1)
    let findings = KeyChecks(lines: [line], files: after, asking: [("sudo", [1000, 1001])]).findings()
    #expect(findings.contains { $0.level == .problem && $0.text.hasSuffix("who have none: 1000") })
  }

  @Test func theListOfNamesIsThereFromTheStart() throws {
    try files.make()
    #expect(try text(files.users).isEmpty)
  }

  @Test func aMappingThatOthersCanWriteIsNamed() throws {
    try files.add("alice:a,b,es256,+presence", of: alice)
    let line = PAMLine(
      kind: "auth", control: "sufficient", module: "pam_permit.so", arguments: ["authfile=" + files.mapping],
      file: "/p/sudo", line: 1)
    #expect(KeyChecks(lines: [line], files: files).findings().contains { $0.text.hasSuffix("alice (1)") })
    #expect(
      KeyChecks(lines: [line], files: files, asking: [("sudo", [7])]).findings().contains {
        $0.level == .problem && $0.text.hasSuffix("these ids for it: 1000")
      })
    chmod(files.mapping, 0o666)
    #expect(KeyChecks(lines: [line], files: files).findings().contains { $0.level == .problem })
    #expect(throws: FileError.self) { try self.files.add("alice:e,f,es256,+presence", of: self.alice) }
  }
}
