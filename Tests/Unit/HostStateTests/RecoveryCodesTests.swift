import Dispatch
import Glibc
import IAMPASSProtocol
import Synchronization
import Testing

@testable import HostState
@testable import HostSystem

@Suite(.enabled(if: geteuid() == 0, "the sets are root's"))
struct RecoveryCodesTests {
  private let folder: TemporaryFolder
  private let codes: RecoveryCodes
  private let alice = SystemUser(name: UnixUsername(validating: "alice")!, uid: 1_000)
  private let use = CodeUse(
    user: UnixUsername(validating: "alice")!, service: "sudo", tty: "/dev/pts/1", remoteHost: nil, time: 1_700_000_000)

  init() throws {
    folder = try TemporaryFolder()
    codes = RecoveryCodes(state: RunFolder(path: folder.path + "/state"), computer: "this one")
  }

  /// A kept set's codes.
  private func made(for user: SystemUser? = nil) throws -> [RecoveryCode] {
    let drawn = try codes.draw(for: user ?? alice, at: 1_700_000_000)
    try codes.keep(drawn.set)
    return drawn.codes
  }

  private var path: String {
    folder.path + "/state/recovery/" + Digest.hexadecimal(Digest.sha256(Array("alice".utf8)))
  }

  private func isSpent(_ code: RecoveryCode, by codes: RecoveryCodes? = nil) throws -> Bool {
    if case .accepted = try (codes ?? self.codes).take(code, of: alice, use) { true } else { false }
  }

  @Test func eachOfTenCodesServesOnce() throws {
    let made = try made()
    #expect(Set(made.map(\.exposedText)).count == 10)
    for (place, code) in made.enumerated() {
      guard case .accepted(let accepted) = try codes.take(code, of: alice, use) else {
        Issue.record("code \(place + 1) does not serve")
        return
      }
      #expect(accepted.number == place + 1 && accepted.left == 9 - place)
      #expect(try codes.take(code, of: alice, use) == .used(number: place + 1))
    }
  }

  @Test func aUseIsOnTheDiskBeforeItCounts() throws {
    let made = try made()
    #expect(try isSpent(made[3]))
    let set = try #require(try codes.set(of: alice.name))
    var kept = use
    kept.left = 9
    #expect(try codes.uses(of: set)[4] == .some(kept))
    // Another process, or the same computer after a power cut.
    let later = RecoveryCodes(state: RunFolder(path: folder.path + "/state"), computer: "this one")
    #expect(try !isSpent(made[3], by: later))
  }

  @Test func aCodeThatSeveralTryAtOnceServesOnce() throws {
    let code = try made()[0]
    let accepted = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 8) { [codes, alice, use] _ in
      if case .accepted = try? codes.take(code, of: alice, use) { accepted.add(1, ordering: .relaxed) }
    }
    #expect(accepted.load(ordering: .relaxed) == 1)
  }

  @Test func onlyHashesAreKept() throws {
    let made = try made()
    let bytes = try SecureFile.read(path, privacy: .secret, limit: 4_096)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains(RecoveryHash.beginning))
    for code in made {
      #expect(!text.contains(code.exposedText) && !text.contains(code.characters.exposedValue))
    }
  }

  @Test func anotherUsersCodeIsWrong() throws {
    _ = try made()
    let bob = SystemUser(name: UnixUsername(validating: "bob")!, uid: 1_001)
    let theirs = try made(for: bob)
    #expect(try codes.take(theirs[0], of: alice, use) == .wrong)
    #expect(try codes.take(theirs[0], of: nil, use) == .wrong)
  }

  @Test func nobodysCodeCostsAHashToo() throws {
    let code = try #require(RecoveryCode(typed: Secret("00000-00000")))
    #expect(try RecoveryHash().hash(code, by: RecoveryHash.nobodysSetting).hasPrefix(RecoveryHash.nobodysSetting))
    #expect(try codes.take(code, of: nil, use) == .wrong)
    #expect(try codes.take(code, of: alice, use) == .wrong)
  }

  @Test func aCopyOnAnotherComputerIsRefused() throws {
    let made = try made()
    let copy = RecoveryCodes(state: RunFolder(path: folder.path + "/state"), computer: "a copy")
    #expect(throws: RecoveryError.notThisComputers(path: path)) { try copy.take(made[0], of: alice, use) }
    let unknown = RecoveryCodes(state: RunFolder(path: folder.path + "/state"), computer: nil)
    #expect(throws: RecoveryError.unknownComputer) { try unknown.take(made[0], of: alice, use) }
    #expect(try isSpent(made[0]))
  }

  @Test func aUserWhoGotTheNameLaterIsRefused() throws {
    let made = try made()
    let heir = SystemUser(name: alice.name, uid: 1_002)
    #expect(throws: RecoveryError.notThisUsers(path: path)) { try codes.take(made[0], of: heir, use) }
  }

  @Test func newCodesReplaceTheOld() throws {
    let old = try made()
    #expect(try isSpent(old[0]))
    let new = try made()
    #expect(try !isSpent(old[1]))
    #expect(try codes.left(of: try #require(try codes.set(of: alice.name))) == 10)
    #expect(try isSpent(new[0]))
  }

  @Test func revokedCodesServeNoMore() throws {
    let made = try made()
    #expect(try isSpent(made[0]))
    #expect(try codes.revoke(alice.name))
    #expect(try !isSpent(made[1]))
    #expect(try !codes.revoke(alice.name))
    // What is left is what the service is to be told.
    let unreported = try codes.unreportedUses()
    #expect(unreported.count == 1)
    try codes.noteReported(unreported[0])
    #expect(try FolderListing.names(in: folder.path + "/state/recovery").filter { !$0.hasPrefix(".") }.isEmpty)
  }

  @Test(arguments: ["", "{"]) func aUseThatWasCutOffGoesWithItsSet(_ left: String) throws {
    let made = try made()
    #expect(try isSpent(made[0]))
    let set = try #require(try codes.set(of: alice.name))
    try folder.write("state/recovery/" + path.split(separator: "/").last! + ".\(set.id).1.used", left)
    #expect(try !isSpent(made[0]), "a cut file is a use all the same")
    #expect(try codes.unreportedUses().isEmpty)
    #expect(try codes.revoke(alice.name))
    #expect(try FolderListing.names(in: folder.path + "/state/recovery").filter { !$0.hasPrefix(".") }.isEmpty)
  }

  @Test func aCutFileIsRefusedAtEachLength() throws {
    let made = try made()
    let whole = try SecureFile.read(path, privacy: .secret, limit: 4_096)
    for length in stride(from: 0, to: whole.count, by: 37) {
      try AtomicFile.write(Array(whole[..<length]), to: path, mode: 0o600)
      #expect(throws: RecoveryError.damaged(path: path)) { try codes.take(made[0], of: alice, use) }
    }
  }

  @Test(arguments: ["$6$", "$y$j9T$", "$y$jFT$", "", "x"])
  func hashesOfAnotherSchemeAreRefused(_ beginning: String) throws {
    let made = try made()
    let whole = String(decoding: try SecureFile.read(path, privacy: .secret, limit: 4_096), as: UTF8.self)
    let other = whole.replacing(RecoveryHash.beginning, with: beginning)
    try AtomicFile.write(Array(other.utf8), to: path, mode: 0o600)
    #expect(throws: RecoveryError.damaged(path: path)) { try codes.take(made[0], of: alice, use) }
  }

  @Test(arguments: [Int64.min, -1, 253_402_300_800, Int64.max])
  func timesThatCannotBeAreRefused(_ time: Int64) throws {
    let set = try codes.draw(for: alice, at: time).set
    #expect(RecoverySet(parsing: set.encoded()) == nil)
    let odd = CodeUse(user: alice.name, service: "sudo", tty: nil, remoteHost: nil, time: time)
    #expect(CodeUse(parsing: odd.encoded()) == nil)
  }

  @Test func filesThatOthersCouldHaveWrittenAreRefused() throws {
    let made = try made()
    chmod(path, 0o640)
    #expect(throws: RecoveryError.self) { try codes.take(made[0], of: alice, use) }
    chmod(path, 0o620)
    #expect(throws: RecoveryError.self) { try codes.take(made[0], of: alice, use) }
    chmod(path, 0o600)
    chown(path, 1_000, 0)
    #expect(throws: RecoveryError.self) { try codes.take(made[0], of: alice, use) }
    chown(path, 0, 0)
    rename(path, path + "x")
    symlink(path + "x", path)
    #expect(throws: RecoveryError.self) { try codes.take(made[0], of: alice, use) }
    unlink(path)
    rename(path + "x", path)
    #expect(try isSpent(made[0]))
  }

  @Test func aMillionLinesAreRefusedUnread() throws {
    let made = try made()
    try AtomicFile.write([UInt8](repeating: UInt8(ascii: "\n"), count: 1_000_000), to: path, mode: 0o600)
    #expect(throws: RecoveryError.file(FileError(.tooLarge, path: path, mode: 0o600))) {
      try codes.take(made[0], of: alice, use)
    }
  }

  @Test func lookingMakesNoFolder() throws {
    #expect(try codes.sets().isEmpty)
    #expect(try codes.set(of: alice.name) == nil)
    #expect(access(folder.path + "/state", F_OK) != 0)
  }
}

@Suite struct RecoveryCodeTests {
  @Test func aCodeHasFiftyBitsInTwoGroups() throws {
    let code = try #require(RecoveryCode.draw())
    #expect(code.exposedText.utf8.count == 11)
    #expect(RecoveryCode(typed: Secret(code.exposedText)) == code)
  }

  @Test(arguments: ["7q2mf-x0k9d", " 7Q2MF-XOK9D ", "7q2mf x0k9d"])
  func isTakenAsPeopleTypeIt(_ typed: String) {
    #expect(RecoveryCode(typed: Secret(typed)) == RecoveryCode(typed: Secret("7q2mf-x0k9d")))
  }

  @Test(arguments: [
    "", "7q2mfx0k9d", "7q2mf-x0k9", "7q2mf-x0k9dd", "7q2mf-x0u9d", "7q2mf--x0k9d", "hunter2", "-----------",
  ])
  func whatHasAnotherFormIsAPassword(_ typed: String) {
    #expect(RecoveryCode(typed: Secret(typed)) == nil)
  }

  @Test func theFirmwaresNumberTellsACopyOfTheDiskApart() {
    let machine = Array("0123456789abcdef0123456789abcdef".utf8)
    #expect(ComputerName.name(machine: machine, serial: [1]) != ComputerName.name(machine: machine, serial: [2]))
  }
}

@Suite struct OfflineMethodsTests {
  @Test(arguments: [
    ("none", false, false), ("recovery", true, true), ("sudo:recovery", true, false),
    ("recovery, sshd:none", true, false), ("none sudo:recovery", true, false),
  ])
  func aServicesOwnWordCounts(_ text: String, _ sudo: Bool, _ sshd: Bool) throws {
    let methods = try #require(OfflineMethods(reading: text))
    #expect(methods.contains(.recovery, for: "sudo") == sudo)
    #expect(methods.contains(.recovery, for: "sshd") == sshd)
    #expect(OfflineMethods(reading: methods.text) == methods)
    #expect(methods.isEmpty == (!sudo && !sshd))
  }

  @Test(arguments: [
    "", "codes", "sudo:", ":recovery", "sudo:recovery:x", "none recovery", "recovery recovery",
    "sudo:none sudo:recovery", "@desktop:recovery", "a/b:recovery",
  ])
  func refusesWhatIsNotClear(_ text: String) { #expect(OfflineMethods(reading: text) == nil) }
}

@Suite struct CodeTriesTests {
  private let alice = UnixUsername(validating: "alice")!

  @Test func requestsToThePhoneCountAsTries() throws {
    let folder = try TemporaryFolder()
    let run = RunFolder(path: folder.path + "/run")
    let phone = AttemptLimiter(run: run, greatestCount: 5, window: 600, now: { 1_000 })
    let tries = AttemptLimiter(run: run, greatestCount: 10, window: 3_600, now: { 1_700 })
    for _ in 0..<5 { try phone.admit(alice, from: .own) }
    for _ in 0..<5 { try tries.admit(alice, from: .own) }
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 2_900)) { try tries.admit(alice, from: .own) }
    // The owner's own are counted apart from strangers'.
    try tries.admit(alice, from: .remoteHost("192.0.2.1"))
  }

  /// `request_window` can be longer than the tries' hour.
  @Test func aTryForgetsNothingOfTheRequests() throws {
    let folder = try TemporaryFolder()
    let run = RunFolder(path: folder.path + "/run")
    let phone = AttemptLimiter(run: run, greatestCount: 5, window: 7_200, now: { 10_000 })
    for _ in 0..<5 { try phone.admit(alice, from: .own) }
    let tries = AttemptLimiter(run: run, greatestCount: 10, window: 3_600, remembering: 7_200, now: { 14_000 })
    try tries.admit(alice, from: .own)
    let later = AttemptLimiter(run: run, greatestCount: 6, window: 7_200, now: { 14_001 })
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 3_199)) { try later.admit(alice, from: .own) }
  }

  /// Any number of names can be made up, from one address.
  @Test func namesThatNobodyHasTakeNoRoomFromOthers() throws {
    let folder = try TemporaryFolder()
    let run = RunFolder(path: folder.path + "/run")
    let tries = AttemptLimiter(run: run, greatestCount: 1, window: 3_600, now: { 1_000 })
    let host = "192.0.2.1"
    try tries.admit(alice, from: .unknownName(host))
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 3_600)) { try tries.admit(alice, from: .unknownName(host)) }
    for number in 1..<AttemptLimiter.greatestFileCount { try folder.write("run/attempts/unknown/\(number)", "1000\n") }
    try tries.admit(try #require(UnixUsername(validating: "x")), from: .unknownName(host))
    try tries.admit(alice, from: .remoteHost(host))
    #expect(try BoundedFolder.names(in: folder.path + "/run/attempts/remote").count == 1)
    let unknown = try BoundedFolder.names(in: folder.path + "/run/attempts/unknown").count
    #expect(unknown < AttemptLimiter.greatestFileCount)
  }

  @Test func aShorterLimitForgetsNothingOfALongerOne() throws {
    let folder = try TemporaryFolder()
    let run = RunFolder(path: folder.path + "/run")
    let tries = AttemptLimiter(run: run, greatestCount: 10, window: 3_600, now: { 1_000 })
    for _ in 0..<10 { try tries.admit(alice, from: .own) }
    let phone = AttemptLimiter(run: run, greatestCount: 5, window: 600, now: { 1_700 })
    try phone.admit(alice, from: .own)
    let later = AttemptLimiter(run: run, greatestCount: 10, window: 3_600, now: { 1_701 })
    #expect(throws: AttemptRefusal.tooMany(secondsLeft: 2_899)) { try later.admit(alice, from: .own) }
  }
}
