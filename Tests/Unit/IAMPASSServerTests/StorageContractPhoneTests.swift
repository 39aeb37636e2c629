import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What ``ServiceStorage`` promises of phones, links, users and the console, for each engine, by the protocol alone.
@Suite struct StorageContractPhoneTests {
  // MARK: Links

  @Test(arguments: StorageEngine.allCases)
  func oneOfManyPhonesThatUseALinkAtOnceIsRegistered(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.addUser()
    let code = try await room.makeLink().code
    let now = room.now
    let wins = try await room.wins { connection, _ in
      let result = try? await connection.register(
        StorageFixture.newPhone(), by: code, at: now, deciding: StorageFixture.unusedLink)
      return (try? result?.get()) != nil
    }
    #expect(wins == 1)
    #expect(try await room.storage.stock().phones == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRefusedRegistrationLeavesTheLink(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let code = try await room.makeLink(loss: .keepsSessions).code
    let refused = try await room.storage.register(StorageFixture.newPhone(), by: code, at: room.now) { _ in
      .failure(.cutOff)
    }
    #expect(throws: Refusal.self) { try refused.get() }
    await #expect(throws: StorageFixture.Thrown.self) {
      try await room.storage.register(StorageFixture.newPhone(), by: code, at: room.now) { _ in
        throw StorageFixture.Thrown()
      }
    }
    #expect(try await room.storage.link(code)?.link.isUsed == false)
    #expect(try await room.storage.phone(phone.id)?.isCutOff == true)
    #expect(try await room.storage.stock().phones == 0)
  }

  @Test(arguments: StorageEngine.allCases) func aNewLinkEndsTheOlderOne(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.addUser()
    let older = try await room.makeLink().code
    let newer = try await room.makeLink().code
    #expect(try await room.storage.link(older) == nil)
    #expect(try await room.storage.link(newer)?.application == "shop")
    #expect(try await room.makeLink(for: "nobody").stored == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aLostPhoneIsCutOffWithWhatItEnds(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let kept = try await room.approved(by: phone)
    let ended = try await room.approved(by: phone, host: "web-2")
    let unanswered = try await room.started(room.ask(host: "web-3"))
    let stored = try #require(await room.makeLink(loss: .endsSessions(but: [kept.id])).stored)
    #expect(stored.cutOff == [phone.id])
    #expect(Set(stored.closed.map(\.id)) == [ended.id, unanswered.id])
    #expect(try await room.storage.session(kept.id)?.lifecycle.isApproved == true)
    let refused = try await room.answer(unanswered.id, .approve, by: phone)
    #expect(throws: Refusal.self) { try refused.get() }
  }

  // MARK: A phone that was cut off

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatWasCutOffChangesNothing(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    _ = try await room.makeLink(loss: .keepsSessions)
    let events = try await room.events()
    let storage = room.storage
    #expect(try await storage.setPresence(.away, of: phone, at: room.now) == nil)
    guard case .cutOff = try await storage.endSessions([session.id], by: phone, at: room.now) else {
      throw StorageFixture.Thrown()
    }
    try await storage.notePageView(of: phone, at: room.now)
    #expect(try await storage.unregister(phone, at: room.now) == nil)
    #expect(try await storage.requests(for: phone, at: room.now) == nil)
    #expect(try await storage.pageState(of: phone, at: room.now) == nil)
    #expect(try await !storage.keepPush(nil, of: phone, at: room.now))
    let credential = VerifiedCredential(id: "c", publicKey: "k", counter: 0)
    let refusal = try await storage.keepCredential(credential, pinMAC: nil, of: phone, at: room.now) {
      $0.isLive ? nil : .cutOff
    }
    #expect(refusal?.reason == .deviceCutOff)
    let refused = try await room.answer(session.id, .approve, by: phone)
    #expect(throws: Refusal.self) { try refused.get() }
    #expect(try await storage.session(session.id)?.lifecycle.isApproved == true)
    #expect(try await room.events() == events)
  }

  @Test(arguments: StorageEngine.allCases)
  func aPagesStateIsWhatThePhoneItsRequestsAndItsAccountAre(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let approved = try await room.approved(by: phone)
    let asked = try await room.started(room.ask(host: "web-2"))
    _ = try await room.storage.setPresence(.away, of: phone, at: room.now)
    let state = try #require(try await room.storage.pageState(of: phone, at: room.now))
    #expect(state.phone.id == phone.id)
    #expect(state.phone.presence == .away)
    #expect(state.requests.unended.map(\.id) == [approved.id, asked.id])
    #expect(state.account.unended.map(\.id) == [approved.id, asked.id])
    #expect(state.account.application == "shop")
    #expect(state.account.phones.map(\.id) == [phone.id])
  }

  @Test(arguments: StorageEngine.allCases)
  func theNewestLookAtAPageIsKept(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    func lookedAt() async throws -> UnixTime? {
      try await room.storage.phone(phone.id)?.lookedAt
    }
    #expect(try await lookedAt() == nil)
    try await room.storage.notePageView(of: phone, at: room.now)
    try await room.storage.notePageView(of: phone, at: room.now.advanced(seconds: -60))
    #expect(try await lookedAt() == room.now)
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneEndsAllOfTheSessionsOrNone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let eve = try await room.phone(of: "eve")
    let own = try await room.approved(by: phone)
    let other = try await room.approved(by: eve, for: "eve")
    guard case .unknownSession = try await room.storage.endSessions([own.id, other.id], by: phone, at: room.now) else {
      throw StorageFixture.Thrown()
    }
    #expect(try await room.storage.session(own.id)?.lifecycle.isApproved == true)
    guard case .ended(let ended) = try await room.storage.endSessions([own.id], by: phone, at: room.now) else {
      throw StorageFixture.Thrown()
    }
    #expect(ended.map(\.id) == [own.id])
  }

  @Test(arguments: StorageEngine.allCases)
  func sessionsMoveWithThePhoneIfTheApplicationLetsThem(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.approved(by: phone)
    let storage = room.storage
    #expect(try await storage.setPresence(.away, of: phone, at: room.now)?.map(\.lifecycle.status) == [.walkaway])
    try await storage.changeSettings(of: room.application.id) { $0.walkaway = false }
    #expect(try await storage.setPresence(.present, of: phone, at: room.now)?.map(\.lifecycle.status) == [.active])
    #expect(try await storage.setPresence(.away, of: phone, at: room.now)?.isEmpty == true)
    #expect(try await storage.phone(phone.id)?.presence == .away)
  }

  // MARK: Users

  @Test(arguments: StorageEngine.allCases) func usersAreAddedOnceAndDeletedWithAll(_ engine: StorageEngine) async throws
  {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    let storage = room.storage
    let added = try await storage.addUsers(["alice", "eve"], to: room.application.id)
    #expect(added.created == ["eve"] && added.existing == ["alice"])
    let closed = try await storage.deleteUsers(["alice", "nobody"], of: room.application.id, at: room.now)
    #expect(closed.map(\.id) == [session.id])
    #expect(try await storage.session(session.id)?.user == nil)
    #expect(try await storage.phone(phone.id)?.isCutOff == true)
    #expect(try await room.addUser() != phone.user)
  }

  // MARK: The console

  @Test(arguments: StorageEngine.allCases)
  func oneOfManyBrowsersThatUseAConsoleLinkAtOnceEnters(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await room.storage.createConsoleLink(at: room.now)
    let now = room.now
    let wins = try await room.wins { connection, number in
      (try? await connection.enterConsole(by: code, key: Secret("key \(number)"), from: .unknown, at: now)) == true
    }
    #expect(wins == 1)
    #expect(try await !room.storage.isUsable(consoleLink: code, at: room.now))
  }

  @Test(arguments: StorageEngine.allCases)
  func whatWasAskedWithARevokedSecretIsClosed(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let (storage, shop) = (room.storage, room.application.id)
    let own = try await room.started(room.ask())
    #expect(try await storage.renewSecret(of: shop, to: Secret("new"), at: room.now)?.map(\.id) == [own.id])
    #expect(try await storage.application(shop)?.secret == Secret("new"))
    let credential = try await storage.createHostCredential(named: "a", host: "h", of: shop, at: room.now)
    let asked = try await room.started(room.ask(by: credential))
    #expect(try await storage.revokeCredential(credential.id, of: shop, at: room.now)?.map(\.id) == [asked.id])
    guard case .not(.credentialRevoked) = try await room.start(room.ask(by: credential)).outcome else {
      throw StorageFixture.Thrown()
    }
    #expect(try await storage.revokeCredential(credential.id, of: "other", at: room.now) == nil)
    #expect(try await storage.renewSecret(of: "other", to: Secret("new"), at: room.now) == nil)
    #expect(try await storage.setDisabled(true, of: "other", at: room.now) == nil)
  }

  @Test(arguments: StorageEngine.allCases) func namesOfUsableCredentialsAreUnique(_ engine: StorageEngine) async throws
  {
    let room = try await StorageFixture(engine)
    let (storage, shop) = (room.storage, room.application.id)
    let first = try await storage.createHostCredential(named: "a", host: "h", of: shop, at: room.now)
    let second = try await storage.createHostCredential(named: "b", host: "h", of: shop, at: room.now)
    #expect(try await storage.renameCredential(second.id, of: shop, to: "a") == false)
    await #expect(throws: HostCredentialRefusal.nameTaken) {
      try await storage.createHostCredential(named: "a", host: "h", of: shop, at: room.now)
    }
    _ = try await storage.revokeCredential(first.id, of: shop, at: room.now)
    #expect(try await storage.renameCredential(second.id, of: shop, to: "a") == true)
    await #expect(throws: ApplicationRefusal.nameTaken) {
      try await storage.createApplication(named: "shop", matchCodes: .on, at: room.now)
    }
  }

  @Test(arguments: StorageEngine.allCases) func settingsChangeWhollyOrNotAtAll(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let shop = room.application.id
    await #expect(throws: StorageFixture.Thrown.self) {
      try await room.storage.changeSettings(of: shop) { settings in
        settings.hook = "/bin/true"
        throw StorageFixture.Thrown()
      }
    }
    #expect(try await room.storage.settings(of: shop).hook.isEmpty)
    try await room.storage.changeSettings(of: shop) { $0.answerTime = 30 }
    #expect(try await room.storage.settings(of: shop).answerTime == 30)
    #expect(try await room.storage.applications().map(\.settings.answerTime) == [30])
  }

  // MARK: The audit

  @Test(arguments: StorageEngine.allCases) func nothingThatIsStoredIsLeftOutOfTheAudit(_ engine: StorageEngine)
    async throws
  {
    let room = try await StorageFixture(engine)
    let (storage, shop) = (room.storage, room.application.id)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    _ = try await storage.setPresence(.away, of: phone, at: room.now)
    _ = try await storage.setPresence(.present, of: phone, at: room.now)
    _ = try await storage.logOut(session.id, at: room.now)
    let credential = try await storage.createHostCredential(named: "a", host: "h", of: shop, at: room.now)
    _ = try await storage.renameCredential(credential.id, of: shop, to: "b")
    _ = try await storage.revokeCredential(credential.id, of: shop, at: room.now)
    _ = try await storage.renewSecret(of: shop, to: Secret("new"), at: room.now)
    _ = try await storage.setDisabled(true, of: shop, at: room.now)
    let proof = VerifiedCredential(id: "c", publicKey: "k", counter: 0)
    for _ in 0..<2 { _ = try await storage.keepCredential(proof, pinMAC: nil, of: phone, at: room.now) { _ in nil } }
    _ = try await storage.deleteUsers(["alice"], of: shop, at: room.now)
    let code = try await storage.createConsoleLink(at: room.now)
    _ = try await storage.enterConsole(by: code, key: Secret("key"), from: .unknown, at: room.now)
    let events = try await room.events()
    #expect(
      events == [
        "application made", "user added", "registration link made", "phone registered", "asked", "approved",
        "walked away", "back", "ended", "credential made", "credential renamed", "credential revoked",
        "application secret renewed", "settings changed", "phone credential added", "phone credential replaced",
        "phone cut off", "user deleted", "console link made", "console sign-in",
      ])
  }
}
