import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A change of a session that was read before counts only if the stored session is still that.
@Suite struct KnownSessionChangeTests {
  @Test(arguments: StorageEngine.allCases)
  func whatWasChangedMeanwhileIsReadAgain(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    let session = try await office.approved(by: try await office.phone())
    let known = try #require(await office.storage.sessionView(session.id))
    let other = try office.opened()
    #expect(try await other.logOut(session.id, at: office.now) != nil)
    let told = try #require(await office.storage.collect(known, at: office.now)).session
    #expect(told.lifecycle.endedAt != nil)
    #expect(told.lifecycle.ending == .loggedOut)
    #expect(try await office.storage.session(session.id)?.lifecycle == told.lifecycle)
  }

  @Test(arguments: StorageEngine.allCases)
  func eachFieldThatChangedMeanwhileCounts(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    let phone = try await office.phone()
    let changes: [@Sendable (inout Session) -> Void] = [
      { $0.lifecycle.leave(at: office.now) }, { $0.lifecycle.collect(at: office.now.advanced(seconds: 1)) },
      { $0.delivered = .identifying }, { $0.deliveredAt = office.now.advanced(seconds: 7) },
      { $0.method = .facial }, { $0.answeredBy = "another" },
    ]
    for change in changes {
      let session = try await office.approved(by: phone)
      let known = try #require(await office.storage.sessionView(session.id))
      _ = try await office.storage.changeSession(session.id) {
        change(&$0)
        return true
      }
      let stored = try #require(await office.storage.session(session.id))
      _ = try await office.storage.changeSession(known) {
        $0.markDelivered(at: office.now)
        return true
      }
      var expected = stored
      expected.markDelivered(at: office.now)
      let found = try #require(await office.storage.session(session.id))
      #expect(found.lifecycle == expected.lifecycle)
      #expect(found.delivered == expected.delivered)
      #expect(found.deliveredAt == expected.deliveredAt)
      #expect(found.method == expected.method)
      #expect(found.answeredBy == expected.answeredBy)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aStepThatFailsStoresNothing(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    _ = try await office.phone()
    let session = try await office.started(office.ask())
    let known = try #require(await office.storage.sessionView(session.id))
    await #expect(throws: StorageFixture.Thrown.self) {
      try await office.storage.changeSession(known) { session in
        session.lifecycle.seen(at: office.now)
        throw StorageFixture.Thrown()
      }
    }
    #expect(try await office.storage.session(session.id)?.lifecycle.status == .pending)
  }

  @Test(arguments: StorageEngine.allCases)
  func aRequestIsSeenOnce(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    let phone = try await office.phone()
    let session = try await office.started(office.ask())
    #expect(try await office.storage.see(session, at: office.now))
    #expect(try await office.storage.session(session.id)?.lifecycle.status == .identifying)
    // Another listing read it before that.
    #expect(try await !office.storage.see(session, at: office.now))
    _ = try await office.answer(session.id, .approve, by: phone).get()
    #expect(try await !office.storage.see(session, at: office.now))
    #expect(try await office.storage.session(session.id)?.lifecycle.status == .active)
  }

  @Test(arguments: StorageEngine.allCases)
  func aSessionThatIsGoneIsNotMadeAgain(_ engine: StorageEngine) async throws {
    let office = try await StorageFixture(engine)
    let session = try await office.approved(by: try await office.phone())
    let known = try #require(await office.storage.sessionView(session.id))
    _ = try await office.storage.logOut(session.id, at: office.now)
    office.clock.advance(seconds: 40 * 86_400)
    while try await office.storage.forgetOld(.endedSessions, at: office.now, wall: office.now) {}
    #expect(try await office.storage.session(session.id) == nil)
    #expect(try await office.storage.collect(known, at: office.now) == nil)
  }
}
