import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The secrets of applications and computers, sealed by a key outside the database.
@Suite struct ClientSealTests {
  @Test(arguments: StorageEngine.allCases)
  func aBackupOfASealedDatabaseHasNoClientsSecret(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let room = fixture.room
    #expect(try await fixture.found() == ["application", "computer", "program", "waiting"])
    let told = try await room.events()
    _ = try await fixture.seal()
    let (service, operators) = try fixture.opened(fixture.keys)
    try await operators.eraseOverwritten()
    #expect(try await fixture.found() == [])
    // Nobody has given an application another secret.
    #expect(try await room.events() == told + ["secrets sealed"])
    #expect(try await service.signInClient(room.application.id)?.secret == room.application.secret)
    #expect(try await service.application(room.application.id)?.secret == room.application.secret)
    #expect(try await service.signInClient(fixture.desk.id)?.secret == fixture.desk.secret)
    #expect(try await service.signInClient(fixture.program.id)?.secret == fixture.program.secret)
    try await operators.checkSeals()
    // The second time changes nothing.
    let sealed = try await fixture.stored()
    #expect(try await operators.sealSecrets(at: room.now) == 0)
    #expect(try await fixture.stored() == sealed)
    _ = try await operators.unsealSecrets(at: room.now)
    #expect(try await fixture.found() == ["application", "computer", "program", "waiting"])
    #expect(try await fixture.opened(nil).service.signInClient(fixture.desk.id)?.secret == fixture.desk.secret)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatIsMadeInASealedDatabaseIsSealed(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let now = fixture.room.now
    _ = try await fixture.seal()
    let (service, operators) = try fixture.opened(fixture.keys)
    let bank = try await service.createApplication(named: "bank", matchCodes: .off, at: now)
    let till = try await service.createHostCredential(named: "till", host: "till", of: "bank", at: now)
    _ = try await operators.createOpenIDClient(named: "forum", shown: "Forum", of: "bank", at: now)
    let (asked, made) = (try RandomValue.secret(), try RandomValue.secret())
    _ = try await ClientSealFixture.join("phone-desk", asked, by: "code", at: service, now)
    guard case .joined(let joined, _, _) = try await ClientSealFixture.join("lobby", made, by: "open", at: service, now)
    else {
      Issue.record("the computer has not joined")
      return
    }
    #expect(try await operators.decideJoin(fixture.joining, isApproved: true, at: now) != .unknown)
    let renewed = try RandomValue.secret()
    #expect(try await service.renewSecret(of: fixture.room.application.id, to: renewed, at: now) != nil)
    _ = try await operators.addAdministrator("ada", role: .admin, at: now)
    #expect(try await fixture.stored().count == 10)
    #expect(try await fixture.stored().allSatisfy(SealedText.isSealed))
    for (id, secret) in [
      (bank.id, bank.secret), (till.id, till.secret), (joined.id, made), (fixture.room.application.id, renewed),
    ] { #expect(try await service.signInClient(id)?.secret == secret) }
    let tablet = try #require(try await operators.hostCredentials(of: "shop").first { $0.name == "tablet" })
    #expect(try await service.signInClient(tablet.id)?.secret == fixture.waiting)
    try await operators.checkSeals()
  }

  @Test(arguments: StorageEngine.allCases)
  func aSecretOpensInItsOwnRowAlone(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    _ = try await fixture.seal()
    let service = try fixture.opened(fixture.keys).service
    let other = try await service.createHostCredential(named: "other", host: "other", of: "shop", at: fixture.room.now)
    try await fixture.run(
      "UPDATE host_credential SET secret = (SELECT secret FROM host_credential WHERE id = $1) WHERE id = $2", other.id,
      fixture.desk.id)
    #expect(try await sealFault { _ = try await service.signInClient(fixture.desk.id) } == .changed)
    try await fixture.run(
      "UPDATE host_credential SET secret = (SELECT secret FROM application WHERE id = $1) WHERE id = $2",
      fixture.room.application.id, fixture.desk.id)
    #expect(try await sealFault { _ = try await service.signInClient(fixture.desk.id) } == .changed)
    #expect(try await sealFault { try await fixture.opened(fixture.keys).operators.checkSeals() } == .changed)
    #expect(try await service.signInClient(other.id)?.secret == other.secret)
    let both = try await service.signInClients([fixture.desk.id, other.id])
    #expect(try await sealFault { _ = try both[fixture.desk.id]?.get() } == .changed)
    #expect(try both[other.id]?.get().secret == other.secret)
  }

  @Test(arguments: StorageEngine.allCases)
  func withoutTheKeyNoClientIsProvenOrMade(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let now = fixture.room.now
    _ = try await fixture.seal()
    let sealed = try await fixture.stored()
    let lacking: [(SealKeys?, SealFault.Code)] = [(nil, .noKey), (try SealKeyTests.newKeys(), .otherKey)]
    for (keys, code) in lacking {
      let (service, operators) = try fixture.opened(keys)
      #expect(try await sealFault { _ = try await service.signInClient(fixture.desk.id) } == code)
      let own = fixture.room.application.id
      #expect(try await sealFault { _ = try await service.signInClients([own])[own]?.get() } == code)
      let nonce = SignedNonce(
        owner: "host:x", value: try RandomValue.identifier(), forgetAt: now.advanced(seconds: 600))
      #expect(try await sealFault { _ = try await service.useNonce(nonce, reading: fixture.desk.id, at: now) } == code)
      #expect(
        try await sealFault {
          _ = try await service.createHostCredential(named: "x", host: "x", of: "shop", at: now)
        } == code)
      #expect(
        try await sealFault { _ = try await operators.decideJoin(fixture.joining, isApproved: true, at: now) } == code)
      // What needs no secret needs no key.
      #expect(try await operators.hostCredentials(of: "shop").count == 1)
      #expect(
        try await service.renameCredential(fixture.desk.id, of: fixture.room.application.id, to: "desk 1") == true)
      #expect(try await service.renameCredential(fixture.desk.id, of: fixture.room.application.id, to: "desk") == true)
    }
    #expect(try await fixture.stored() == sealed)
  }

  @Test(arguments: StorageEngine.allCases)
  func aSecretInClearIsAcceptedUntilAllAreSealed(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let clear = fixture.desk.secret
    _ = try await fixture.seal()
    let service = try fixture.opened(fixture.keys).service
    try await fixture.run(
      "UPDATE host_credential SET secret = $1 WHERE id = $2", clear.exposedValue, fixture.desk.id)
    #expect(try await sealFault { _ = try await service.signInClient(fixture.desk.id) } == .clear)
    // An interrupted seal.
    try await fixture.run("UPDATE push_key SET client_seal = 'sealing'")
    #expect(try await service.signInClient(fixture.desk.id)?.secret == clear)
    let lobby = try await service.createHostCredential(named: "lobby", host: "lobby", of: "shop", at: fixture.room.now)
    #expect(try await fixture.stored().filter { !SealedText.isSealed($0) } == [clear.exposedValue])
    #expect(try await fixture.seal() == 1)
    // An interrupted unsealing.
    try await fixture.run("UPDATE push_key SET client_seal = 'unsealing'")
    let till = try await service.createHostCredential(named: "till", host: "till", of: "shop", at: fixture.room.now)
    #expect(try await fixture.stored().filter { !SealedText.isSealed($0) } == [till.secret.exposedValue])
    for one in [fixture.desk, lobby, till] { #expect(try await service.signInClient(one.id)?.secret == one.secret) }
    _ = try await fixture.opened(fixture.keys).operators.unsealSecrets(at: fixture.room.now)
    #expect(try await fixture.stored().allSatisfy { !SealedText.isSealed($0) })
  }

  @Test(arguments: StorageEngine.allCases)
  func aDatabaseThatAnEarlierVersionSealedGoesOn(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    _ = try await fixture.seal()
    try await fixture.run("UPDATE push_key SET client_seal = NULL")
    try await fixture.run(
      "UPDATE host_credential SET secret = $1 WHERE id = $2", fixture.desk.secret.exposedValue, fixture.desk.id)
    let (service, operators) = try fixture.opened(fixture.keys)
    #expect(try await service.signInClient(fixture.desk.id)?.secret == fixture.desk.secret)
    #expect(try await operators.isSealed())
    #expect(try await !operators.areClientsSealed())
    // A server of that version still runs: it can use what is made now.
    let till = try await service.createHostCredential(named: "till", host: "till", of: "shop", at: fixture.room.now)
    #expect(try await fixture.stored().contains(till.secret.exposedValue))
    try await operators.checkSeals()
    #expect(try await operators.sealSecrets(at: fixture.room.now) == 2)
    #expect(try await operators.areClientsSealed())
    #expect(try await fixture.stored().allSatisfy(SealedText.isSealed))
  }

  @Test(arguments: StorageEngine.allCases)
  func manyAreSealedInPortionsWhileOthersAreMade(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let (room, count) = (fixture.room, Int(SealableTable.portion) + 20)
    for number in 0..<count {
      _ = try await room.storage.createHostCredential(
        named: "desk \(number)", host: "desk-\(number)", of: "shop", at: room.now)
    }
    let (service, operators) = try fixture.opened(fixture.keys)
    async let sealed = operators.sealSecrets(at: room.now)
    for number in 0..<20 {
      _ = try await service.createHostCredential(named: "late \(number)", host: "l\(number)", of: "shop", at: room.now)
    }
    let rewritten = try await sealed
    #expect(rewritten >= count)
    let stored = try await fixture.stored()
    #expect(stored.count == count + 20 + 4 && stored.allSatisfy(SealedText.isSealed))
    try await operators.checkSeals()
  }

  /// A trigger does between two portions what the beginning of the other one does.
  @Test(arguments: [true, false])
  func sealAndUnsealAtOnceDoNotMix(_ seals: Bool) async throws {
    let fixture = try await ClientSealFixture(.sqlite)
    let (room, operators) = (fixture.room, try fixture.opened(fixture.keys).operators)
    if !seals { _ = try await fixture.seal() }
    try await fixture.run(
      seals
        ? "CREATE TRIGGER other AFTER UPDATE ON application BEGIN UPDATE push_key SET client_seal = 'unsealing'; END"
        : "CREATE TRIGGER other AFTER UPDATE ON application BEGIN UPDATE push_key SET client_seal = 'sealing'; END")
    let fault = try await sealFault {
      _ = try await seals ? operators.sealSecrets(at: room.now) : operators.unsealSecrets(at: room.now)
    }
    #expect(fault == .overtaken)
    // The other one finds a database that says by which key some of it is sealed.
    #expect(try await operators.sealingKeyID() == fixture.keys.firstID)
    #expect(try await fixture.stored().contains(where: SealedText.isSealed))
    #expect(try await fixture.stored().contains { !SealedText.isSealed($0) })
    try await operators.checkSeals()
    try await fixture.run("DROP TRIGGER other")
    _ = try await seals ? operators.unsealSecrets(at: room.now) : operators.sealSecrets(at: room.now)
    #expect(try await fixture.stored().allSatisfy { SealedText.isSealed($0) != seals })
    #expect(try await operators.isSealed() != seals)
  }

  @Test(arguments: StorageEngine.allCases)
  func aLostKeyTakesTheClientsWithIt(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let (room, other) = (fixture.room, try SealKeyTests.newKeys())
    _ = try await fixture.seal()
    let (service, operators) = try fixture.opened(other)
    let lost = try #require(try await operators.giveUpLostKey(at: room.now)).clients
    #expect(lost.applications == ["shop"])
    #expect(lost.credentials.sorted() == ["shop: desk", "shop: wiki"] && lost.joinings == ["tablet"])
    try await operators.checkSeals()
    let shop = try #require(try await service.signInClient(room.application.id))
    #expect(shop.secret != room.application.secret)
    let desk = try #require(try await service.signInClient(fixture.desk.id))
    #expect(desk.secret != fixture.desk.secret && desk.credential?.isRevoked == true)
    // The computer joins again under its name.
    let again = try await ClientSealFixture.join("desk", RandomValue.secret(), by: "open", at: service, room.now)
    guard case .joined = again else {
      Issue.record("the computer cannot join again")
      return
    }
    let renewed = try RandomValue.secret()
    #expect(try await service.renewSecret(of: room.application.id, to: renewed, at: room.now) != nil)
    #expect(try await service.signInClient(room.application.id)?.secret == renewed)
  }
}
