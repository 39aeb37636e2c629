import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Two phones of one user: both are asked, the first answer counts.
@Suite struct SecondPhoneTests {
  private func room(_ engine: StorageEngine) async throws -> (
    room: StorageFixture, first: ActingPhone, second: ActingPhone
  ) {
    let room = try await StorageFixture(engine)
    let first = try await room.phone()
    let second = try await room.phone()
    return (room, first, second)
  }

  @Test(arguments: StorageEngine.allCases)
  func oneOfTwoPhonesThatAnswerAtOnceIsTaken(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    let session = try await room.started(room.ask())
    let wins = try await room.wins { connection, number in
      let answer: DeviceAnswer = number < 5 ? .approve : .deny
      let phone = number % 3 == 0 ? first : second
      return (try? await room.answer(session.id, answer, by: phone, on: connection).get()) != nil
    }
    #expect(wins == 1)
    let answered = try #require(await room.storage.session(session.id))
    #expect(answered.lifecycle.isApproved != (answered.lifecycle.ending == .denied))
    #expect([first.id, second.id].contains(answered.answeredBy))
  }

  @Test(arguments: StorageEngine.allCases)
  func aDenialByEitherPhoneEndsTheRequest(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    for (denying, other) in [(first, second), (second, first)] {
      let session = try await room.started(room.ask())
      _ = try await room.answer(session.id, .deny, by: denying).get()
      let late = try await room.answer(session.id, .approve, by: other)
      #expect(throws: Refusal.self) { try late.get() }
      #expect(try await room.storage.session(session.id)?.lifecycle.status == .cancelled)
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func theOtherPhoneIsToldWhoAnsweredForAMinute(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    let session = try await room.approved(by: second)
    func told(_ phone: ActingPhone) async throws -> [AnswerElsewhere] {
      try #require(await room.storage.requests(for: phone, at: room.now)).elsewhere
    }
    #expect(try await told(first).map(\.session.id) == [session.id])
    #expect(try await told(first).map(\.phone) == ["phone 2"])
    #expect(try await told(second).isEmpty)
    room.clock.advance(seconds: AnswerElsewhere.lifetime)
    #expect(try await told(first).isEmpty)
  }

  @Test(arguments: StorageEngine.allCases)
  func sessionsLeaveWithThePhoneThatApprovedThem(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    let byFirst = try await room.approved(by: first)
    let bySecond = try await room.approved(by: second, host: "web-2")
    let moved = try await room.storage.setPresence(.away, of: first, at: room.now)
    #expect(moved?.map(\.id) == [byFirst.id])
    #expect(try await room.storage.session(bySecond.id)?.lifecycle.status == .active)
    // Nobody is left to bring it back but the phone that the user still has.
    _ = try await room.makeLink(loss: .keepsSessions, phone: first.id)
    let back = try await room.storage.setPresence(.present, of: second, at: room.now)
    #expect(back?.map(\.id) == [byFirst.id])
  }

  @Test(arguments: StorageEngine.allCases)
  func silenceOfOnePhoneMovesNoSessionOfTheOther(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    try await room.storage.changeSettings(of: room.application.id) { $0.silenceLeaves = true }
    let bySecond = try await room.approved(by: second)
    let phone = try #require(await room.storage.phone(first.id))
    let start = try await room.storage.leaveForSilence(since: nil, at: room.now, limit: 100).check
    _ = try await room.storage.markSeen(phone, wasSilent: false, at: room.now)
    var check = start
    for _ in 0..<4 {
      room.clock.advance(seconds: 50)
      let now = try await room.storage.leaveForSilence(since: check, at: room.now, limit: 100)
      check = now.check
      #expect(now.moved.isEmpty)
    }
    #expect(try await room.storage.session(bySecond.id)?.lifecycle.status == .active)
  }

  @Test(arguments: StorageEngine.allCases)
  func aNamedLostPhoneTakesWithItWhatItApprovedAlone(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    let byFirst = try await room.approved(by: first)
    let bySecond = try await room.approved(by: second, host: "web-2")
    let link = try await room.makeLink(loss: .endsSessions(but: []), phone: first.id)
    let stored = try #require(link.stored)
    #expect(stored.cutOff == [first.id])
    #expect(stored.closed.map(\.id) == [byFirst.id])
    #expect(try await room.storage.session(bySecond.id)?.lifecycle.isApproved == true)
    _ = try await room.storage.register(
      StorageFixture.newPhone(), by: link.code, at: room.now, deciding: StorageFixture.unusedLink
    ).get()
    #expect(try await room.storage.phone(second.id)?.isCutOff == false)
    #expect(try await room.storage.stock().phones == 2)
    let eve = try await room.phone(of: "eve")
    #expect(try await room.makeLink(loss: .keepsSessions, phone: eve.id).stored == nil)
    #expect(try await room.storage.phone(eve.id)?.isCutOff == false)
  }

  @Test(arguments: StorageEngine.allCases)
  func bothPhonesAreRungAndListed(_ engine: StorageEngine) async throws {
    let (room, first, second) = try await room(engine)
    for phone in [first, second] {
      #expect(try await room.storage.keepPush(.browser(PushTests.subscription), of: phone, at: room.now))
    }
    #expect(try await Set(room.storage.pushTargets(of: first.user).map(\.phone)) == [first.id, second.id])
    #expect(try await room.storage.account(of: first, at: room.now).phones.map(\.label) == ["phone", "phone 2"])
    // A list of users has each of them once.
    #expect(try await room.storage.application(room.application.id, usersAfter: 0)?.users.count == 1)
    _ = try await room.approved(by: second)
    #expect(try await room.storage.liveSessions().count == 1)
  }

  @Test(arguments: StorageEngine.allCases)
  func theAuditNamesThePhoneThatAnswered(_ engine: StorageEngine) async throws {
    let (room, _, second) = try await room(engine)
    _ = try await room.approved(by: second)
    let entries = try await room.storage.auditEntries(after: 0, limit: 100)
    #expect(entries.filter { $0.event == "approved" }.map { $0["phone"] } == ["Alice (phone 2)"])
    #expect(entries.filter { $0.event == "phone registered" }.map { $0["phone"] } == ["Alice", "Alice (phone 2)"])
  }

  // MARK: Over HTTP

  private func register(_ fixture: Fixture, name: String? = nil) async throws -> ServiceReply {
    let request = RegisterRequest(
      code: try await fixture.linkCode(for: "alice"), publicKey: try DeviceKey.generate().publicKey.text,
      name: name)
    return await fixture.respond(TestPhone.request(DeviceRoute.register, request.encoded()))
  }

  @Test(arguments: StorageEngine.allCases)
  func aSecondPhoneRegistersOnlyWhereTheApplicationLetsIt(_ engine: StorageEngine) async throws {
    let fixture = try await Fixture(engine: engine)
    let first = try await TestPhone.registered(in: fixture)
    let refused = try await register(fixture)
    #expect(refused.status == 409)
    #expect(refused.reason == "HAS_MOBILE_DEVICE")
    try await fixture.service.core.storage.changeSettings(of: fixture.application.id) { $0.phones = 2 }
    #expect(try await register(fixture, name: "Pixel\u{202E} of Alice").status == 200)
    #expect(try await register(fixture).status == 409)
    let phones = try DeviceStatusReply(parsing: await first.status().body).phones
    #expect(phones.map(\.name) == ["phone", "Pixel? of Alice"])
    #expect(phones.map(\.isThis) == [true, false])
  }

  @Test func aPhoneThatLostTheRaceLearnsWhoWonIt() async throws {
    let fixture = try await Fixture()
    let first = try await TestPhone.registered(in: fixture)
    try await fixture.service.core.storage.changeSettings(of: fixture.application.id) { $0.phones = 2 }
    let second = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let request = try #require(try await second.list().first)
    try await first.approveOnly()
    #expect(try await second.answer(.deny, to: request).reason == "ALREADY_ANSWERED")
    let reply = await fixture.respond(
      TestPhone.request(DeviceRoute.requests, try second.askBody(.requests, known: [request.session])))
    let told = try RequestsReply(parsing: reply.body)
    #expect(told.requests.isEmpty)
    #expect(told.answered.map(\.session) == [request.session])
    #expect(told.answered.map(\.isApproved) == [true])
    let sessions = try DeviceStatusReply(parsing: await second.status().body).sessions
    #expect(sessions.map(\.approvedOn) == ["phone"])
  }
}
