import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What ``ServiceStorage`` promises of nonces, sessions and time, for each engine, by the protocol alone.
@Suite struct StorageContractTests {
  private func nonce(_ value: String, owner: String = "host:a", at time: UnixTime) -> SignedNonce {
    SignedNonce(owner: owner, value: value, forgetAt: time.advanced(seconds: SignedNonce.lifetime))
  }

  // MARK: Nonces

  @Test(arguments: StorageEngine.allCases) func aNonceIsSpentOnceForEachOwner(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    #expect(try await room.storage.useNonce(nonce("7", at: room.now), at: room.now))
    #expect(try await !room.storage.useNonce(nonce("7", at: room.now), at: room.now))
    #expect(try await room.storage.useNonce(nonce("8", at: room.now), at: room.now))
    #expect(try await room.storage.useNonce(nonce("7", owner: "host:b", at: room.now), at: room.now))
  }

  @Test(arguments: StorageEngine.allCases)
  func oneOfManyUsesOfANonceAtOnceWins(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (nonce, now) = (nonce("7", at: room.now), room.now)
    let wins = try await room.wins { connection, _ in (try? await connection.useNonce(nonce, at: now)) == true }
    #expect(wins == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func eachOfManyNoncesAtOnceIsUsedOnce(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (now, count) = (room.now, 100)
    let nonces = (0..<2 * count).map { nonce(String($0 % count), at: now) }
    let wins = await withTaskGroup(of: Bool.self) { group in
      for nonce in nonces { group.addTask { (try? await room.storage.useNonce(nonce, at: now)) == true } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(wins == count)
    let later = try room.opened()
    for nonce in nonces.prefix(count) { #expect(try await !later.useNonce(nonce, at: now)) }
  }

  @Test(arguments: StorageEngine.allCases)
  func aSessionsNonceIsSpentOnceAndTellsHowItStands(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let session = try await room.approved(by: room.phone())
    let nonces = (0..<5).map { nonce(String($0), owner: "session:" + session.id, at: room.now) }
    let first = try #require(await room.storage.useNonce(nonces[0], telling: session.id, at: room.now))
    #expect(first.view?.session.lifecycle == session.lifecycle)
    #expect(try await first.mark == room.storage.mark())
    #expect(try await room.storage.useNonce(nonces[0], telling: session.id, at: room.now) == nil)
    // Changed by this process, and by another.
    let told = try #require(await room.storage.collect(session.id, at: room.now)).session
    let second = try #require(await room.storage.useNonce(nonces[1], telling: session.id, at: room.now))
    #expect(second.view?.session.lifecycle == told.lifecycle && told.lifecycle != session.lifecycle)
    #expect(second.view?.session.isNews == false)
    _ = try await room.opened().logOut(session.id, at: room.now)
    let third = try #require(await room.storage.useNonce(nonces[2], telling: session.id, at: room.now))
    #expect(third.view?.session.lifecycle.ending == .loggedOut)
    #expect(third.mark.counter > second.mark.counter)
    let unknown = try #require(await room.storage.useNonce(nonces[3], telling: "unknown", at: room.now))
    #expect(unknown.view == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aForgottenSessionIsNotToldThoughItsKeysAreKnown(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let session = try await room.approved(by: room.phone())
    #expect(try await room.storage.keys(ofSession: session.id)?.token == session.token)
    _ = try await room.storage.logOut(session.id, at: room.now)
    let early = nonce("1", owner: "session:" + session.id, at: room.now)
    #expect(try await room.storage.useNonce(early, telling: session.id, at: room.now)?.view != nil)
    room.clock.advance(seconds: Session.keptAfterEnd + 1)
    try await room.opened().forgetOld(at: room.now, wall: room.clock.now)
    let late = nonce("2", owner: "session:" + session.id, at: room.now)
    #expect(try await room.storage.useNonce(late, telling: session.id, at: room.now)?.view == nil)
    #expect(try await room.storage.keys(ofSession: "unknown") == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aNonceStaysSpentForALaterProcessAndAfterHousekeeping(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let nonce = nonce("7", at: room.now)
    #expect(try await room.storage.useNonce(nonce, at: room.now))
    let later = try room.opened()
    #expect(try await !later.useNonce(nonce, at: room.now))
    room.clock.advance(seconds: 10 * 86_400)
    try await later.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await !later.useNonce(nonce, at: room.now))
  }

  @Test(arguments: StorageEngine.allCases) func theUseOfACredentialIsNoted(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let made = try await room.storage.createHostCredential(
      named: "a", host: "h", of: room.application.id, at: room.now)
    var nonce = nonce("7", at: room.now)
    nonce.credential = made.id
    _ = try await room.storage.useNonce(nonce, at: room.now)
    #expect(try await room.storage.hostCredential(made.id, of: room.application.id)?.lastUsedAt == room.now)
    #expect(try await room.storage.signInClient(made.id)?.credential?.lastUsedAt == room.now)
    #expect(try await room.storage.signInClient("nobody") == nil)
  }

  // MARK: Starts

  @Test(arguments: StorageEngine.allCases)
  func whoSignedIsReadAsItStandsOnceTheNonceIsSpent(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let made = try await room.storage.createHostCredential(
      named: "a", host: "h", of: room.application.id, at: room.now)
    let first = try await room.storage.useNonce(nonce("7", at: room.now), reading: made.id, at: room.now)
    #expect(
      first.isNew && first.signInClient?.secret == made.secret
        && first.signInClient?.application.id == room.application.id)
    let again = try await room.storage.useNonce(nonce("7", at: room.now), reading: made.id, at: room.now)
    #expect(!again.isNew && again.signInClient == nil)
    _ = try await room.opened().revokeCredential(made.id, of: room.application.id, at: room.now)
    let second = try await room.storage.useNonce(nonce("8", at: room.now), reading: made.id, at: room.now)
    #expect(second.isNew && second.signInClient?.credential?.isRevoked == true)
    let own = try await room.storage.useNonce(nonce("9", at: room.now), reading: room.application.id, at: room.now)
    #expect(own.isNew && own.signInClient?.credential == nil && own.signInClient?.secret == room.application.secret)
    let nobody = try await room.storage.useNonce(nonce("10", at: room.now), reading: "nobody", at: room.now)
    #expect(nobody.isNew && nobody.signInClient == nil)
    let all = try await room.storage.signInClients([made.id, "nobody", room.application.id])
    let found = try all.mapValues { try $0.get() }
    #expect(Set(found.keys) == [made.id, room.application.id])
    #expect(found[made.id]?.credential?.id == made.id && found[room.application.id]?.credential == nil)
    #expect(try await room.storage.signInClients([]).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func aStartHasItsFactsAndStoresWhatTheRuleSays(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let session = try await room.started(room.ask())
    let stored = try #require(await room.storage.session(session.id))
    #expect(stored.lifecycle == session.lifecycle)
    #expect(stored.secret == session.secret && stored.token == session.token)
    guard case .not(.openRequest(let open, _)) = try await room.start(room.ask()).outcome else {
      throw StorageFixture.NotStarted()
    }
    #expect(open.id == session.id)
    #expect(try await room.storage.session(session.id)?.heldBack == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneOfManyStartsFromOneSourceAtOnceWins(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let wins = try await room.wins { connection, _ in (try? await room.started(room.ask(), on: connection)) != nil }
    #expect(wins == 1)
    #expect(try await room.storage.requests(for: phone, at: room.now)?.unended.map(\.heldBack) == [9])
  }

  @Test(arguments: StorageEngine.allCases)
  func aRuleThatThrowsLeavesNothingBehind(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let credential = try await room.storage.createHostCredential(
      named: "a", host: "h", of: room.application.id, at: room.now)
    let earlier = try await room.started(
      room.ask(by: credential, boot: SignedBoot(id: "first", signedAt: room.now.seconds)))
    _ = try await room.answer(earlier.id, .approve, by: phone).get()
    let events = try await room.events()
    let mark = try await room.storage.mark()
    let next = room.ask(by: credential, boot: SignedBoot(id: "second", signedAt: room.now.seconds))
    await #expect(throws: StorageFixture.Thrown.self) {
      try await room.storage.start(next, at: room.now) { _ in throw StorageFixture.Thrown() }
    }
    // The new boot had ended this session in the same step.
    #expect(try await room.storage.session(earlier.id)?.lifecycle.isApproved == true)
    #expect(try await room.events() == events)
    #expect(try await room.storage.mark() == mark)
    guard case .isNew(let ended)? = try await room.start(next).boot else { throw StorageFixture.NotStarted() }
    #expect(ended.map(\.id) == [earlier.id])
  }

  // MARK: Answers

  @Test(arguments: StorageEngine.allCases)
  func oneOfManyAnswersAtOnceIsTaken(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.started(room.ask())
    let taken = try await room.wins { connection, number in
      let answer: DeviceAnswer = number % 2 == 0 ? .approve : .deny
      return (try? await room.answer(session.id, answer, by: phone, on: connection).get()) != nil
    }
    #expect(taken == 1)
    #expect(try await room.storage.keptAnswers(after: 0, limit: 10).count == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func theAnswerIsToldWhereTheComputerVerifiesIt(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let challenge = try #require(ApprovalChallenge.draw())
    let session = try await room.started(room.ask(challenge: challenge))
    #expect(try await room.storage.sessionView(session.id)?.approval == nil)
    _ = try await room.answer(session.id, .approve, by: phone).get()
    let approval = try #require(await room.storage.sessionView(session.id)?.approval)
    #expect(approval["phone"]?.string == phone.id)
    #expect(try await room.storage.collect(session.id, at: room.now)?.approval == approval)
    _ = try await room.storage.logOut(session.id, at: room.now)
    #expect(try await room.storage.sessionView(session.id)?.approval == nil)
    let other = try await room.approved(by: phone, host: "web-2")
    #expect(try await room.storage.sessionView(other.id)?.approval == nil)
    #expect(try await room.storage.sessionView("unknown") == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRefusedAnswerLeavesNothingBehind(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.started(room.ask())
    let refused = try await room.storage.answer(session.id, by: phone, at: room.now) { _, _ in .failure(.cutOff) }
    #expect(throws: Refusal.self) { try refused.get() }
    await #expect(throws: StorageFixture.Thrown.self) {
      try await room.storage.answer(session.id, by: phone, at: room.now) { _, _ in throw StorageFixture.Thrown() }
    }
    #expect(try await room.storage.session(session.id)?.lifecycle == session.lifecycle)
    #expect(try await room.storage.keptAnswers(after: 0, limit: 10).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func anAnswerToSomebodyElsesSessionSeesNoSession(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let eve = try await room.phone(of: "eve")
    _ = try await room.phone()
    let session = try await room.started(room.ask())
    let refused = try await room.answer(session.id, .approve, by: eve)
    #expect(throws: Refusal.self) { try refused.get() }
    #expect(try await room.storage.session(session.id)?.lifecycle.isUnanswered == true)
  }

  @Test(arguments: StorageEngine.allCases)
  func aSourceIsBlockedInTheStepOfTheAnswer(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let session = try await room.started(room.ask())
    _ = try await room.answer(session.id, .notMe, by: phone).get()
    guard case .not(.reason(.sourceBlocked)) = try await room.start(room.ask()).outcome else {
      throw StorageFixture.NotStarted()
    }
    _ = try await room.started(room.ask(host: "web-2"))
    room.clock.advance(seconds: SourceBlock.lifetime)
    _ = try await room.started(room.ask())
  }

  /// PostgreSQL's indices have a bound, and compress what repeats.
  @Test(arguments: StorageEngine.allCases)
  func aLongSourceIsBlockedToo(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    // 3 KB; a context has 8 at most.
    let (service, remote) = (Self.incompressible(length: 500), Self.incompressible(length: 500))
    let session = try await room.started(room.ask(service: service, remoteHost: remote))
    _ = try await room.answer(session.id, .notMe, by: phone).get()
    let again = room.ask(service: service, remoteHost: remote)
    guard case .not(.reason(.sourceBlocked)) = try await room.start(again).outcome else {
      throw StorageFixture.NotStarted()
    }
    let other = Self.incompressible(length: 500)
    _ = try await room.started(room.ask(service: service, remoteHost: other))
  }

  @Test(arguments: StorageEngine.allCases)
  func aUserOfTheLongestIDIsStored(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let name = Self.incompressible(length: 666)
    #expect(User.isFit(name) && !User.isFit(name + "\u{6F22}"))
    _ = try await room.storage.addUsers([name], to: room.application.id)
    #expect(try await room.storage.user(name, of: room.application.id) != nil)
  }

  /// Three bytes a character.
  private static func incompressible(length: Int) -> String {
    String(String.UnicodeScalarView((0..<length).map { _ in Unicode.Scalar(UInt32.random(in: 0x4E00...0x9FFF))! }))
  }

  // MARK: Steps

  @Test(arguments: StorageEngine.allCases)
  func onlyWhatAStepSaysItChangedIsStored(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone()
    let now = room.now
    let session = try await room.started(room.ask())
    let change = try await room.storage.changeSession(session.id) { session in
      session.lifecycle.close(.loggedOut, at: now)
      return false
    }
    #expect(change?.isChanged == false)
    #expect(try await room.storage.session(session.id)?.lifecycle == session.lifecycle)
    #expect(try await room.storage.changeSession("unknown") { _ in true } == nil)
  }

  @Test(arguments: StorageEngine.allCases) func timeEndsWhatIsOverdueAndNothingElse(_ engine: StorageEngine)
    async throws
  {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let approved = try await room.approved(by: phone)
    _ = try await room.storage.collect(approved.id, at: room.now)
    let waiting = try await room.started(room.ask(host: "web-2"))
    room.clock.advance(seconds: SessionLifecycle.answerTime)
    #expect(try await room.endOverdue().ended.map(\.id) == [waiting.id])
    #expect(try await room.endOverdue().ended.isEmpty)
    #expect(try await room.storage.session(approved.id)?.lifecycle.isApproved == true)
  }

  @Test(arguments: StorageEngine.allCases)
  func theMarkGrowsWithWhatHappensToASession(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    var marks = [try await room.storage.mark().counter]
    let session = try await room.approved(by: phone)
    marks.append(try await room.storage.mark().counter)
    _ = try await room.storage.logOut(session.id, at: room.now)
    marks.append(try await room.storage.mark().counter)
    #expect(marks == marks.sorted() && Set(marks).count == 3)
    #expect(try await room.opened().mark().counter == marks.last)
  }

  // MARK: Time

  @Test(arguments: StorageEngine.allCases)
  func serviceTimeDoesNotFollowTheWallClock(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let before = room.now
    room.clock.step(seconds: -86_400)
    #expect(room.now == before)
    room.clock.advance(seconds: 5)
    #expect(room.now == before.advanced(seconds: 5))
    try await room.storage.keepTime()
    room.clock.reboot(after: 60)
    #expect(try room.opened().now() >= before.advanced(seconds: 5))
  }
}
