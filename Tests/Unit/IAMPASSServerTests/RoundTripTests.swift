import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// How often the service waits for PostgreSQL. Each wait of a write is under the lock that all servers share, so that it
/// bounds what all of them do in a second.
@Suite struct RoundTripTests {
  /// A computer's user with two phones, each with a credential.
  private struct RoundTripFixture {
    let room: StorageFixture
    let storage: PostgreSQLStorage
    let credential: HostCredential
    let phone: ActingPhone

    init() async throws {
      room = try await StorageFixture(.postgresql)
      storage = try #require(room.storage as? PostgreSQLStorage)
      credential = try await room.storage.createHostCredential(
        named: "laptop", host: "laptop", of: room.application.id, at: room.now)
      phone = try await room.phone()
      let other = try await room.phone()
      for id in [phone.id, other.id] {
        let key = VerifiedCredential(id: "credential of " + id, publicKey: "key", counter: 0)
        try await storage.write { [now = room.now] in try key.insert(phone: id, at: now, in: $0) }
      }
      // The first statement of each kind is prepared, and there is a connection.
      _ = try await started()
    }

    /// - Parameter challenge: the answer is then told to the computer.
    func started(_ challenge: ApprovalChallenge? = nil) async throws -> Session {
      // A start that comes while another one of its source is open is not stored.
      room.clock.advance(seconds: SessionLifecycle.answerTime)
      _ = try await room.endOverdue()
      return try await room.started(
        room.ask(by: credential, boot: SignedBoot(id: "boot", signedAt: 1), challenge: challenge))
    }

    func trips(_ work: () async throws -> Void) async throws -> Int {
      let before = storage.pool.roundTrips.load(ordering: .sequentiallyConsistent)
      try await work()
      return storage.pool.roundTrips.load(ordering: .sequentiallyConsistent) - before
    }

    func tell(_ session: Session) async throws -> SessionMoment? {
      let nonce = SignedNonce(
        owner: session.id, value: try RandomValue.identifier(), forgetAt: room.now.advanced(seconds: 600))
      return try await storage.useNonce(nonce, telling: session.id, at: room.now)
    }
  }

  @Test func aUsersFirstStartWaitsForTwoAnswersAndItsCommit() async throws {
    let office = try await RoundTripFixture()
    _ = try await office.room.phone(of: "bob")
    let ask = office.room.ask(for: "bob", by: office.credential, boot: SignedBoot(id: "boot", signedAt: 2))
    let trips = try await office.trips { _ = try await office.room.started(ask) }
    #expect(trips <= 3)
  }

  @Test func aLaterStartWaitsForOneAnswerAndItsCommit() async throws {
    let office = try await RoundTripFixture()
    office.room.clock.advance(seconds: SessionLifecycle.answerTime)
    _ = try await office.room.endOverdue()
    let ask = office.room.ask(by: office.credential, boot: SignedBoot(id: "boot", signedAt: 2))
    let trips = try await office.trips { _ = try await office.room.started(ask) }
    #expect(trips <= 2)
  }

  @Test func anAnswerWaitsForOneAnswerAndItsCommit() async throws {
    let office = try await RoundTripFixture()
    let session = try await office.started()
    // The test looks for its phone first.
    let looks = 1
    let trips = try await office.trips {
      _ = try await office.room.answer(session.id, .approve, by: office.phone).get()
    }
    #expect(trips - looks <= 2)
  }

  @Test func renewedMarksOfManyComputersWaitNoLongerThanOne() async throws {
    let office = try await RoundTripFixture()
    var desks: [HostCredential] = []
    for number in 0..<32 {
      desks.append(
        try await office.storage.createHostCredential(
          named: "desk-\(number)", host: "desk", of: office.room.application.id, at: office.room.now))
    }
    func renewal(_ mark: String, after former: String?) async throws -> [CloneDetector.Finding?] {
      try await office.storage.renew(
        desks.map {
          ComputerMarkSighting(
            credential: $0.id, mark: mark, former: former, address: nil, signedAt: 0, at: office.room.now)
        })
    }
    _ = try await renewal("a1", after: nil)
    let trips = try await office.trips {
      let findings = try await renewal("a2", after: "a1")
      #expect(findings == Array(repeating: .renewed, count: desks.count))
    }
    #expect(trips <= 3)
  }

  @Test func aStatusIsSpentAndToldInOneVisit() async throws {
    let office = try await RoundTripFixture()
    let session = try await office.started()
    _ = try await office.tell(session)
    let trips = try await office.trips {
      let moment = try await office.tell(session)
      #expect(moment?.view?.session.id == session.id)
    }
    #expect(trips == 1)
  }

  @Test func whoSignedIsReadInTheVisitThatSpendsTheNonce() async throws {
    let office = try await RoundTripFixture()
    func useNonce() async throws -> (isNew: Bool, signInClient: SignInClient?) {
      let nonce = SignedNonce(
        owner: office.credential.id, value: try RandomValue.identifier(),
        forgetAt: office.room.now.advanced(seconds: 600), credential: office.credential.id)
      return try await office.storage.useNonce(nonce, reading: office.credential.id, at: office.room.now)
    }
    _ = try await useNonce()
    let trips = try await office.trips {
      let spent = try await useNonce()
      #expect(spent.signInClient?.id == office.credential.id)
    }
    #expect(trips == 1)
    let ids = try (0..<UnauthenticatedRequestLimit.greatestCount).map { _ in try RandomValue.identifier() }
    let looks = try await office.trips {
      let found = try await office.storage.signInClients(ids + [office.credential.id])
      #expect(found.keys.sorted() == [office.credential.id])
    }
    #expect(looks == 1)
  }

  @Test func aStatusWithItsAnswerTakesOneVisitMore() async throws {
    let office = try await RoundTripFixture()
    let challenge = try #require(ApprovalChallenge(Array(0..<32)))
    let session = try await office.started(challenge)
    _ = try await office.room.answer(session.id, .approve, by: office.phone).get()
    let trips = try await office.trips {
      let moment = try await office.tell(session)
      #expect(moment?.view?.session.id == session.id)
    }
    #expect(trips <= 2)
  }

  @Test func anApprovalThatIsToldIsStoredInOneVisit() async throws {
    let office = try await RoundTripFixture()
    for _ in 1...2 {
      let session = try await office.started()
      _ = try await office.room.answer(session.id, .approve, by: office.phone).get()
      let known = try #require(await office.storage.sessionView(session.id))
      let trips = try await office.trips {
        let told = try await office.storage.collect(known, at: office.room.now)
        #expect(told?.session.lifecycle.isUncollected == false)
      }
      #expect(trips == 1)
      let stored = try await office.storage.session(session.id)
      #expect(stored?.lifecycle.collectedAt == office.room.now)
    }
  }

  @Test func aStartedSessionsKeysNeedNoVisit() async throws {
    let office = try await RoundTripFixture()
    let session = try await office.started()
    let trips = try await office.trips {
      let keys = try await office.storage.keys(ofSession: session.id)
      #expect(keys?.token == session.token)
    }
    #expect(trips == 0)
  }

  @Test func anEndWaitsForOneAnswerAndItsCommit() async throws {
    let office = try await RoundTripFixture()
    let session = try await office.started()
    _ = try await office.room.answer(session.id, .approve, by: office.phone).get()
    let now = office.room.now
    let trips = try await office.trips {
      _ = try await office.storage.changeSession(session.id) { session in
        session.lifecycle.close(.loggedOut, at: now)
        return true
      }
    }
    #expect(trips <= 2)
  }

  @Test func whatAPhoneShowsIsOneVisit() async throws {
    let office = try await RoundTripFixture()
    _ = try await office.started()
    let trips = try await office.trips {
      let requests = try await office.storage.requests(for: office.phone, at: office.room.now)
      #expect(requests?.unended.count == 1)
    }
    // With a second phone there is also what that one answered.
    #expect(trips <= 2)
    let further = try await office.trips {
      _ = try await office.storage.account(of: office.phone, at: office.room.now)
    }
    #expect(further == 1)
    let page = try await office.trips {
      let state = try await office.storage.pageState(of: office.phone, at: office.room.now)
      #expect(state?.requests.unended.count == 1)
    }
    #expect(page <= 2)
  }
}
