import DeviceProtocol
import Foundation
import Glibc
import HostSystem
import IAMPASSProtocol
import Synchronization
import Testing

@testable import HostState
@testable import IAMPASSClient

/// A computer that has met a phone, with a clock that a test moves.
private final class OfflineFixture {
  static let context = SignInContext(host: "desk-7", service: "sudo", user: "alice")
  static let alice = UnixUsername(validating: "alice")!
  static let use = CodeUse(user: alice, service: "sudo", tty: "/dev/pts/1", remoteHost: nil, time: 1_700_000_000)

  let folder: String
  let state: RunFolder
  let phones: OfflinePhones
  let phone: SigningPhone
  let agreement: DeviceKey
  private let clock = SharedClock()
  private let wallClock = SharedClock()

  final class SharedClock: Sendable {
    private let seconds = Mutex<Int64>(1_000)
    var now: Int64 {
      get { seconds.withLock { $0 } }
      set { seconds.withLock { $0 = newValue } }
    }
  }

  var now: Int64 {
    get { clock.now }
    set { clock.now = newValue }
  }

  /// Seconds since 1970.
  var wallTime: Int64 {
    get { wallClock.now }
    set { wallClock.now = newValue }
  }

  init() throws {
    wallClock.now = 1_700_000_000
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    state = RunFolder(path: folder + "/state")
    phones = OfflinePhones(
      state: state, pins: folder + "/phones", computer: "this one", now: { [clock] in clock.now },
      wallTime: { [wallClock] in wallClock.now })
    phone = try SigningPhone()
    agreement = try DeviceKey.generate()
    try pin(try phone.pin())
    try meet(phones)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Another computer, or another look at this one's folder, by the same clock.
  func phones(in name: String, computer: String = "this one") -> OfflinePhones {
    OfflinePhones(
      state: RunFolder(path: folder + "/" + name), pins: folder + "/phones", computer: computer,
      now: { [clock] in clock.now }, wallTime: { [wallClock] in wallClock.now })
  }

  func pin(_ phone: PinnedPhone) throws {
    try PinnedPhonesEditor(path: folder + "/phones").pin(phone, for: Self.alice, replacing: true)
  }

  /// An approval that was verified, with the phone's key in it.
  func meet(_ phones: OfflinePhones, key: DeviceKey? = nil, by other: SigningPhone? = nil) throws {
    let phone = other ?? self.phone
    let verifier = LibcryptoVerifier()
    try verifier.prepare()
    let demand = try ApprovalDemand(phones: [try phone.pin()], asked: [], verifier: verifier)
    let asked = try AskedApproval(demand, context: Self.context, origin: SigningPhone.origin)
    var signed = SigningPhone.Wrong()
    signed.agreementKey = try (key ?? agreement).publicKeyText
    let approval = try ApprovalCheck(asked: asked, session: "session-1").verified(try phone.approval(of: asked, signed))
    try phones.meet(approval, of: Self.alice)
  }

  func question(_ method: AuthenticationMethod = .acceptance) throws -> OfflineQuestion {
    try #require(try phones.question(method: method, context: Self.context, at: 1_700_000_000))
  }

  /// What the phone shows.
  func digits(for question: OfflineQuestion, by key: DeviceKey? = nil) throws -> OfflineDigits {
    let key = key ?? agreement
    let own = try #require(P256PublicKey(try key.publicKeyText))
    let computer = question.challenge.computer
    let agreed = Secret(bytes: try key.agreement(withPoint: computer.point))
    return OfflineDigits(
      secret: OfflineDigits.secret(agreed: agreed, computer: computer, phone: own), challenge: question.challenge,
      origin: SigningPhone.origin)
  }

  /// The one file of a phone.
  func metFile() throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder + "/state/offline")
    return folder + "/state/offline/" + (try #require(names.first { $0.contains(".") }))
  }

  func verdict(
    _ digits: OfflineDigits, _ question: OfflineQuestion, of user: UnixUsername? = alice,
    by phones: OfflinePhones? = nil
  ) throws -> DigitsVerdict {
    try (phones ?? self.phones).take(digits, for: question, of: user, origin: SigningPhone.origin, Self.use)
  }

  func isTaken(_ question: OfflineQuestion) throws -> Bool {
    if case .approved = try verdict(try digits(for: question), question) { true } else { false }
  }
}

@Suite(.enabled(if: geteuid() == 0, "the files are root's"))
struct OfflinePhonesTests {
  @Test func aPhoneThatWasMetSignsIn() throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    guard case .approved(let approval) = try desk.verdict(try desk.digits(for: question), question) else {
      Issue.record("not taken")
      return
    }
    #expect(approval.user == OfflineFixture.alice && approval.phone.id == desk.phone.id)
    let uses = try PhoneUses(state: desk.state).unreported()
    #expect(uses.map(\.phone) == [desk.phone.id] && uses.map(\.use) == [OfflineFixture.use])
    #expect(uses.map(\.id) == [approval.use])
    try PhoneUses(state: desk.state).forget(approval.use)
    #expect(try PhoneUses(state: desk.state).unreported() == [])
  }

  @Test func noTwoQuestionsHaveTheSameDigits() throws {
    let desk = try OfflineFixture()
    let first = try desk.question()
    let second = try desk.question()
    #expect(first.challenge.nonce != second.challenge.nonce)
    #expect(try desk.verdict(try desk.digits(for: first), second) == .wrong)
  }

  @Test(arguments: [(0, true), (119, true), (120, false), (-1, false), (-900, false)] as [(Int64, Bool)])
  func digitsAreTakenForTwoMinutesOfTheBootClock(_ later: Int64, isTaken: Bool) throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    desk.now += later
    #expect(try desk.isTaken(question) == isTaken)
    if !isTaken { #expect(try desk.verdict(try desk.digits(for: question), question) == .tooLate) }
  }

  @Test(
    arguments: [(0, nil), (30 * 86_400, nil), (30 * 86_400 + 1, .notSeenLately), (-300, nil), (-301, .clockBehind)]
      as [(Int64, OfflineError?)])
  func aPhoneCountsForThirtyDaysAfterItsLastApproval(_ later: Int64, fault: OfflineError?) throws {
    let desk = try OfflineFixture()
    desk.wallTime += later
    guard let fault else {
      #expect(try desk.isTaken(try desk.question()))
      return
    }
    let question = try desk.question()
    #expect(throws: fault) { try desk.verdict(try desk.digits(for: question), question) }
    #expect(throws: fault) { try desk.phones.phones(of: OfflineFixture.alice) }
    #expect(try PhoneUses(state: desk.state).unreported() == [])
  }

  @Test func eachApprovalWithTheServiceLetsItCountOn() throws {
    let desk = try OfflineFixture()
    for _ in 0..<3 {
      desk.wallTime += 20 * 86_400
      try desk.meet(desk.phones)
    }
    #expect(try desk.isTaken(try desk.question()))
    let file = try desk.metFile()
    let before = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
    desk.wallTime += 3_600
    try desk.meet(desk.phones)
    #expect(
      try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int == before,
      "not each sign-in waits for the disk")
  }

  @Test func aFileThatDoesNotTellWhenIsTooOld() throws {
    let desk = try OfflineFixture()
    let file = try desk.metFile()
    let text = try String(contentsOfFile: file, encoding: .utf8)
    try text.replacing(",\"seen\":1700000000", with: "").write(toFile: file, atomically: false, encoding: .utf8)
    #expect(throws: OfflineError.notSeenLately) { try desk.phones.phones(of: OfflineFixture.alice) }
  }

  @Test func aUserWhoHasNoPhoneAtTheServiceHasNoneHere() throws {
    let desk = try OfflineFixture()
    let bob = try #require(UnixUsername(validating: "bob"))
    #expect(try !desk.phones.forget(bob))
    #expect(try desk.isTaken(try desk.question()))
    #expect(try desk.phones.forget(OfflineFixture.alice))
    #expect(try !desk.isTaken(try desk.question()))
    #expect(try desk.phones.phones(of: OfflineFixture.alice) == [])
    try desk.meet(desk.phones)
    #expect(try desk.isTaken(try desk.question()))
  }

  @Test func aDamagedFileRefusesForItself() throws {
    let desk = try OfflineFixture()
    let damaged = try desk.metFile()
    let second = try SigningPhone("second")
    try PinnedPhonesEditor(path: desk.folder + "/phones").pin(
      try second.pin(), for: OfflineFixture.alice, replacing: false)
    let key = try DeviceKey.generate()
    try desk.meet(desk.phones, key: key, by: second)
    #expect(desk.phones.faults(of: OfflineFixture.alice).isEmpty)
    #expect(truncate(damaged, 20) == 0)
    #expect(desk.phones.faults(of: OfflineFixture.alice) == [.damaged(path: damaged)])
    let question = try desk.question()
    #expect(try desk.verdict(try desk.digits(for: question, by: key), question) != .wrong)
    #expect(try desk.verdict(try desk.digits(for: question), question) == .wrong)
  }

  @Test func whetherAllPhonesHaveLocks() throws {
    let desk = try OfflineFixture()
    #expect(desk.phones.haveAllLocks)
    let editor = PinnedPhonesEditor(path: desk.folder + "/phones")
    let bob = try #require(UnixUsername(validating: "bob"))
    try editor.pin(try SigningPhone("of-bob").pin(lock: false), for: bob, replacing: true)
    #expect(!desk.phones.haveAllLocks, "one user's phone decides for the question to all")
    try editor.forget(bob)
    try editor.forget(OfflineFixture.alice)
    #expect(!desk.phones.haveAllLocks)
  }

  @Test func anotherPhonesDigitsAreWrong() throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    #expect(try desk.verdict(try desk.digits(for: question, by: try DeviceKey.generate()), question) == .wrong)
    #expect(try PhoneUses(state: desk.state).unreported() == [])
  }

  @Test func aNewKeyOfThePhoneTakesTheOldOnesPlace() throws {
    let desk = try OfflineFixture()
    let key = try DeviceKey.generate()
    try desk.meet(desk.phones, key: key)
    let question = try desk.question()
    #expect(try desk.verdict(try desk.digits(for: question), question) == .wrong)
    #expect(try desk.verdict(try desk.digits(for: question, by: key), question) != .wrong)
  }

  @Test func nobodyElseIsSignedIn() throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    let digits = try desk.digits(for: question)
    #expect(try desk.verdict(digits, question, of: nil) == .wrong)
    #expect(try desk.verdict(digits, question, of: UnixUsername(validating: "bob")) == .wrong)
  }

  @Test func aPhoneThatWasForgottenIsWrong() throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    try PinnedPhonesEditor(path: desk.folder + "/phones").forget(OfflineFixture.alice)
    #expect(try !desk.isTaken(question))
    #expect(try desk.phones.phones(of: OfflineFixture.alice) == [])
  }

  @Test func aPhoneThatSignsByAnotherKeyIsAnotherPhone() throws {
    let desk = try OfflineFixture()
    let other = try SigningPhone(desk.phone.id)
    try desk.pin(try other.pin())
    #expect(try !desk.isTaken(try desk.question()))
  }

  @Test func aPhoneWithoutALockIsNotEnoughWhereOneIsAskedFor() throws {
    let desk = try OfflineFixture()
    #expect(try desk.isTaken(try desk.question(.device)))
    try desk.pin(try desk.phone.pin(lock: false))
    #expect(try !desk.isTaken(try desk.question(.device)))
    #expect(try desk.isTaken(try desk.question()))
  }

  @Test func eachComputerHasASecretOfItsOwn() throws {
    let desk = try OfflineFixture()
    let other = desk.phones(in: "other", computer: "the other")
    try desk.meet(other)
    let question = try #require(try other.question(method: .acceptance, context: OfflineFixture.context, at: 0))
    #expect(question.challenge.computer != (try desk.question()).challenge.computer)
    #expect(try desk.verdict(try desk.digits(for: question), question) == .wrong)
  }

  @Test func aComputerThatHasMetNobodyAsksNobody() throws {
    let desk = try OfflineFixture()
    let fresh = desk.phones(in: "fresh")
    #expect(try fresh.question(method: .acceptance, context: OfflineFixture.context, at: 0) == nil)
    #expect(access(desk.folder + "/fresh", F_OK) != 0, "looking makes no folder")
  }

  @Test func aCopyOnAnotherComputerIsRefused() throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    let copy = desk.phones(in: "state", computer: "a copy")
    let path = desk.folder + "/state/offline/key"
    #expect(throws: OfflineError.notThisComputers(path: path)) {
      try desk.verdict(try desk.digits(for: question), question, by: copy)
    }
    // What the copy then learns is by a key of its own.
    try desk.meet(copy)
    let own = try #require(try copy.question(method: .acceptance, context: OfflineFixture.context, at: 0))
    #expect(own.challenge.computer != question.challenge.computer)
  }

  @Test(arguments: ["key", "phone"])
  func aCutFileIsSaid(_ name: String) throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    let folder = desk.folder + "/state/offline/"
    let file = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder).first { ($0 == "key") == (name == "key") })
    #expect(truncate(folder + file, 20) == 0)
    #expect(throws: OfflineError.damaged(path: folder + file)) {
      try desk.verdict(try desk.digits(for: question), question)
    }
  }

  @Test func aFileThatOthersCanReadIsRefused() throws {
    let desk = try OfflineFixture()
    #expect(chmod(desk.folder + "/state/offline/key", 0o644) == 0)
    #expect(throws: OfflineError.self) { try desk.question() }
  }

  @Test func withoutRoomForTheNoteNobodyIsIn() throws {
    let desk = try OfflineFixture()
    let question = try desk.question()
    // A file where the folder of uses would be.
    try Data().write(to: URL(filePath: desk.folder + "/state/offline/uses"))
    #expect(throws: OfflineError.self) { try desk.verdict(try desk.digits(for: question), question) }
  }
}
