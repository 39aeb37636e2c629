import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Who signs, and how that changes.
@Suite struct AdministratorSetTests {
  @Test(arguments: StorageEngine.allCases) func theFirstSetIsMadeOnce(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine, starts: false)
    guard case .made(let set) = try await office.operators.createAdministratorSet(replacing: false, at: office.now)
    else { throw StorageFixture.NotStarted() }
    #expect(set.number == 1 && set.phones.map(\.id) == [office.phone.device])
    #expect(try await office.operators.createAdministratorSet(replacing: false, at: office.now) == .exists)
    #expect(try await office.operators.administratorSets().map(\.set) == [set])
  }

  @Test func onlyAdminsWithAPhoneSign() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.storage
    _ = try await TestPhone.administrator(in: fixture, "bo", .helpdesk)
    _ = try await storage.addAdministrator("ada", role: .admin, at: fixture.clock.now)
    #expect(try await storage.firstSigners(replacing: false) == [])
    #expect(try await storage.createAdministratorSet(replacing: false, at: fixture.clock.now) == .noPhone)
    let key = try RecoveryKey.generate().publicKey
    let outcome = try await storage.createAdministratorSet(
      replacing: false, recovery: .replace(key), at: fixture.clock.now)
    #expect(outcome == .noPhone)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRecoveryKeyOfTheFirstSetReplacesTheOnlyPhone(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine, starts: false)
    let key = try RecoveryKey.generate()
    #expect(try await office.operators.firstSigners(replacing: false) == ["ada"])
    guard
      case .made(let set) = try await office.operators.createAdministratorSet(
        replacing: false, recovery: .replace(key.publicKey), at: office.now)
    else { throw StorageFixture.NotStarted() }
    #expect(set.number == 1 && set.phones.count == 1 && set.recoveryKey(key.publicKey) == "recovery")
    #expect(try await office.operators.firstSigners(replacing: false) == [])
    #expect(try await office.operators.firstSigners(replacing: true) == ["ada"])
    guard
      case .code(let code) = try await office.storage.invitation(
        ofAdministrator: "ada", isLost: true, at: office.now)
    else { throw StorageFixture.NotStarted() }
    #expect(try await TestPhone.register(in: office.fixture, code: code).status == 200)
    let next = try #require(try await office.operators.nextAdministratorSet(.keep)).set
    #expect(next.recoveryKey(key.publicKey) == "recovery" && next.phones != set.phones)
    let proof = try key.proof(of: next)
    #expect(try await office.operators.keepAdministratorSet(next, proof, at: office.now) == nil)
  }

  @Test func anotherFirstSetForgetsWhatWasSigned() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    #expect(try await office.sign() == .signed)
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    guard case .made(let set) = try await office.operators.createAdministratorSet(replacing: true, at: office.now)
    else { throw StorageFixture.NotStarted() }
    #expect(set.number == 1 && set.phones.count == 2)
    #expect(try await office.page().head == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRecoveryKeySignsTheNextSet(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    let key = try RecoveryKey.generate()
    #expect(try await office.sign(.administrators(.replace(key.publicKey))) == .signed)
    // The only phone is lost.
    guard
      case .code(let code) = try await office.storage.invitation(
        ofAdministrator: "ada", isLost: true, at: office.now)
    else { throw StorageFixture.NotStarted() }
    #expect(try await TestPhone.register(in: office.fixture, code: code).status == 200)
    #expect(try await office.order(.administrators(.keep)) == .ended(.notSigner))
    let next = try #require(try await office.operators.nextAdministratorSet(.keep))
    #expect(next.changes.count == 2)
    let other = try RecoveryKey.generate()
    #expect(
      try await office.operators.keepAdministratorSet(next.set, other.proof(of: next.set), at: office.now)
        == .notProven)
    #expect(
      try await office.operators.keepAdministratorSet(next.set, key.proof(of: next.set), at: office.now) == nil)
    #expect(try await office.set == next.set)
    #expect(
      try await office.operators.keepAdministratorSet(next.set, key.proof(of: next.set), at: office.now)
        == .outdated)
  }

  @Test func aRecoveryKeyIsReadAgainAndAMistypedOneIsNot() throws {
    let key = try RecoveryKey.generate()
    let text = key.exposedText
    #expect(RecoveryKey(Secret(text + "\n"))?.publicKey == key.publicKey)
    #expect(RecoveryKey(Secret(String(text.dropLast()))) == nil)
    let swapped = text.prefix(10) + (text.dropFirst(10).first == "A" ? "B" : "A") + text.dropFirst(11)
    #expect(RecoveryKey(Secret(String(swapped))) == nil)
    #expect(RecoveryKey(Secret("IRK1")) == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aJoinCodeNamesTheSetThatIsInForce(_ engine: StorageEngine) async throws {
    let office = try await SigningFixture(engine)
    let order = JoinOrder(
      application: "shop", secret: Secret("code"), uses: 9, days: 1, isUnattended: true, group: "office")
    let first = try await office.set
    let code = try await office.storage.createJoinCode(order, at: office.now)
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.sign(.administrators(.keep)) == .signed)
    let request = JoinRequest(
      code: Secret("code"), name: "desk-9", secret: Secret(Base64.encode(Array(repeating: 9, count: 24))))
    // It is told the same again, and what the code says, whatever is signed since.
    for _ in 0..<2 {
      let reply = await office.fixture.respond(
        ServiceRequest(method: "POST", target: "/join", authority: Fixture.authority, body: request.encoded()))
      guard case .joined(_, _, _, let fleet?) = try JoinReply(parsing: reply.body) else {
        Issue.record("no anchor")
        return
      }
      #expect(fleet.administrators == first && fleet.group == "office" && fleet.application == office.application)
      #expect(fleet.digest == code.fleet(try await office.operators.administratorSets())?.digest)
    }
  }

  @Test func aCodeOfAServiceThatSignsNothingNamesNobody() async throws {
    let office = try await SigningFixture(starts: false)
    let order = JoinOrder(application: "shop", secret: Secret("code"), uses: 1, days: 1, isUnattended: true)
    let code = try await office.storage.createJoinCode(order, at: office.now)
    #expect(code.setNumber == nil)
  }

  /// No number has two sets: one request is open at a time.
  @Test func aSetIsTakenOnlyOnce() async throws {
    let office = try await SigningFixture()
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    #expect(try await office.order(.administrators(.keep)) == .asked)
    let key = try RecoveryKey.generate()
    #expect(try await office.order(.administrators(.replace(key.publicKey))) == .ended(.busy))
    try await office.approve()
    #expect(try await office.set.number == 2)
  }
}
