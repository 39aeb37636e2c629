import DeviceProtocol
import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// An application may refuse passkeys that are synced between devices: at the registration, and at each approval.
@Suite struct SyncedPasskeyTests {
  /// Touched, verified, and it may be synced.
  private static let synced = TestAuthenticator.Wrong(flags: 0x0D)

  private struct PasskeyFixture {
    let fixture: Fixture
    let authenticator: TestAuthenticator
    let key: DeviceKey

    init() async throws {
      fixture = try await Fixture(matchCodes: .off)
      authenticator = try TestAuthenticator()
      key = try DeviceKey.generate()
      try await fixture.addUser("alice")
    }

    func accept(_ isAccepted: Bool) async throws {
      try await fixture.service.storage.set(
        SettingsChange(acceptsSyncedPasskeys: isAccepted), ofApplicationNamed: "shop")
    }

    func register(by code: Secret, _ wrong: TestAuthenticator.Wrong?) async throws -> ServiceReply {
      let publicKey = try key.publicKey.text
      let challenge = CredentialChallenge.bytes(for: code, publicKey: publicKey)
      let credential = try wrong.map { try authenticator.credential(challenge: challenge, $0) }
      let request = RegisterRequest(code: code, publicKey: publicKey, credential: credential)
      return await fixture.respond(TestPhone.request(DeviceRoute.register, request.encoded()))
    }

    func phone(_ wrong: TestAuthenticator.Wrong?) async throws -> TestPhone {
      let reply = try await register(by: try await fixture.linkCode(for: "alice"), wrong)
      return TestPhone(fixture: fixture, key: key, device: try RegisterReply(parsing: reply.body).device)
    }

    func approve(on phone: TestPhone, _ wrong: TestAuthenticator.Wrong) async throws -> ServiceReply {
      let request = try #require(try await phone.list().first)
      let statement = phone.statement(.approve, to: request, code: "", method: nil).json
      let assertion = try authenticator.assertion(challenge: CredentialChallenge.bytes(for: statement), wrong)
      let body = try UnverifiedStatement.body(signing: statement, with: phone.key, assertion: assertion)
      return await fixture.respond(TestPhone.request(DeviceRoute.answer, body))
    }

    func add(
      _ added: TestAuthenticator, _ wrong: TestAuthenticator.Wrong, to phone: TestPhone,
      former: TestAuthenticator.Wrong? = nil
    ) async throws -> ServiceReply {
      let ask = try phone.ask(.credential)
      let challenge = CredentialChallenge.bytes(for: Secret(ask.nonce), publicKey: try phone.key.publicKey.text)
      let statement = CredentialStatement(ask: ask, credential: try added.credential(challenge: challenge, wrong)).json
      let assertion = try former.map {
        try authenticator.assertion(challenge: CredentialChallenge.bytes(for: statement), $0)
      }
      let body = try UnverifiedStatement.body(signing: statement, with: phone.key, assertion: assertion)
      return await fixture.respond(TestPhone.request(DeviceRoute.credential, body))
    }
  }

  @Test func syncedPasskeysAreAcceptedByDefault() async throws {
    let scene = try await PasskeyFixture()
    let phone = try await scene.phone(Self.synced)
    let session = try await scene.fixture.started("alice")
    #expect(try await scene.approve(on: phone, Self.synced).status == 200)
    #expect(try await scene.fixture.status(of: session).status == .active)
  }

  @Test func oneIsNotRegisteredWhereTheyAreRefusedAndTheLinkStays() async throws {
    let scene = try await PasskeyFixture()
    try await scene.accept(false)
    let code = try await scene.fixture.linkCode(for: "alice")
    let refused = try await scene.register(by: code, Self.synced)
    #expect(refused.status == 403 && refused.reason == "SYNCED_PASSKEY")
    let reply = try await scene.register(by: code, nil)
    #expect(try RegisterReply(parsing: reply.body).methods == [.acceptance])
    let phone = TestPhone(fixture: scene.fixture, key: scene.key, device: try RegisterReply(parsing: reply.body).device)
    #expect(try await scene.add(scene.authenticator, Self.synced, to: phone).reason == "SYNCED_PASSKEY")
    #expect(try DeviceStatusReply(parsing: try await phone.status().body).methods == [.acceptance])
    #expect(try await scene.add(scene.authenticator, .init(), to: phone).status == 200)
  }

  @Test func aKeyThatStaysOnThePhoneIsAcceptedEverywhere() async throws {
    let scene = try await PasskeyFixture()
    try await scene.accept(false)
    let phone = try await scene.phone(.init())
    let session = try await scene.fixture.started("alice")
    #expect(try await scene.approve(on: phone, .init()).status == 200)
    #expect(try await scene.fixture.status(of: session).status == .active)
  }

  @Test func oneThatIsRegisteredApprovesNothingOnceTheyAreRefused() async throws {
    let scene = try await PasskeyFixture()
    let phone = try await scene.phone(Self.synced)
    try await scene.accept(false)
    let session = try await scene.fixture.started("alice")
    let refused = try await scene.approve(on: phone, Self.synced)
    #expect(refused.status == 403 && refused.reason == "SYNCED_PASSKEY")
    #expect(try await scene.fixture.status(of: session).status != .active)
    // It may be denied, and the choice can be taken back.
    try await scene.accept(true)
    #expect(try await scene.approve(on: phone, Self.synced).status == 200)
    #expect(try await scene.fixture.status(of: session).status == .active)
  }

  /// Otherwise the user would need a link, although the phone has another key.
  @Test func oneMayBeReplacedByAKeyThatStays() async throws {
    let scene = try await PasskeyFixture()
    let phone = try await scene.phone(Self.synced)
    try await scene.accept(false)
    let next = try TestAuthenticator(id: [9])
    #expect(try await scene.add(next, Self.synced, to: phone, former: Self.synced).reason == "SYNCED_PASSKEY")
    #expect(try await scene.add(next, .init(), to: phone).reason == "ASSERTION_MISSING")
    #expect(try await scene.add(next, .init(), to: phone, former: Self.synced).status == 200)
  }

  /// Whether a key may be synced never changes (Web Authentication, level 3, §7.2).
  @Test(arguments: [TestAuthenticator.Wrong(), SyncedPasskeyTests.synced])
  func aKeyWhoseWordChangesApprovesNothing(_ first: TestAuthenticator.Wrong) async throws {
    let scene = try await PasskeyFixture()
    let phone = try await scene.phone(first)
    _ = try await scene.fixture.started("alice")
    let other = first.flags == 0x05 ? Self.synced : TestAuthenticator.Wrong()
    #expect(try await scene.approve(on: phone, other).reason == "ASSERTION_REFUSED")
    #expect(try await scene.approve(on: phone, first).status == 200)
  }

  /// A credential of an older version, of which nothing is known.
  @Test func theWordOfTheFirstApprovalIsKept() async throws {
    let scene = try await PasskeyFixture()
    let phone = try await scene.phone(Self.synced)
    try await scene.fixture.service.storage.write {
      try $0.execute(sql: "UPDATE phone_credential SET backup_of = NULL, backup_eligible = NULL")
    }
    _ = try await scene.fixture.started("alice")
    #expect(try await scene.approve(on: phone, Self.synced).status == 200)
    _ = try await scene.fixture.started("alice")
    #expect(try await scene.approve(on: phone, .init()).reason == "ASSERTION_REFUSED")
  }

  // MARK: Both engines

  @Test(arguments: StorageEngine.allCases)
  func theChoiceIsStoredAndAudited(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let storage = room.storage
    let operators = try #require(storage as? any OperatorStore)
    #expect(try await storage.settings(of: room.application.id).acceptsSyncedPasskeys)
    try await operators.set(SettingsChange(acceptsSyncedPasskeys: false), ofApplicationNamed: "shop")
    #expect(try await !storage.settings(of: room.application.id).acceptsSyncedPasskeys)
    // Another change leaves it.
    try await operators.set(SettingsChange(phones: 2), ofApplicationNamed: "shop")
    #expect(try await !storage.settings(of: room.application.id).acceptsSyncedPasskeys)
    try await storage.changeSettings(of: room.application.id) { $0.acceptsSyncedPasskeys = true }
    let changes = try await storage.auditEntries(after: 0, limit: 100).filter { $0.event == "settings changed" }
    #expect(
      changes.map { $0["reason"] } == ["synced-passkeys=refused", "phones=2", "synced-passkeys=accepted"])
  }

  @Test(arguments: StorageEngine.allCases)
  func thePhonesWordIsStoredWithItsCredential(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    for isEligible in [true, false] {
      let credential = VerifiedCredential(id: "c", publicKey: "k", counter: 1, isBackupEligible: isEligible)
      _ = try await room.storage.keepCredential(credential, pinMAC: nil, of: phone, at: room.now) { _ in nil }
      #expect(try await room.credential(of: phone) == credential)
    }
    // An older server of the same database replaces it, and stores no word on the new one.
    try await room.replaceCredential()
    #expect(
      try await room.credential(of: phone)
        == VerifiedCredential(id: "other", publicKey: "k", counter: 1, isBackupEligible: nil))
  }
}

extension StorageFixture {
  fileprivate func credential(of phone: ActingPhone) async throws -> VerifiedCredential? {
    try await storage.user("alice", of: application.id)?.phones.first { $0.phone.id == phone.id }?.credential
  }

  fileprivate func replaceCredential() async throws {
    if let storage = storage as? SQLiteStorage {
      try await storage.write { try $0.execute(sql: "UPDATE phone_credential SET credential = 'other'") }
    } else {
      try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder))).run([
        PostgreSQLCall("UPDATE phone_credential SET credential = 'other'")
      ])
    }
  }
}
