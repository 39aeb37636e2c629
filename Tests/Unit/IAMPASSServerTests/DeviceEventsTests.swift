import DeviceProtocol
import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// A page's stream, in pieces.
struct TestStream {
  let source: any EventSource

  init(of phone: TestPhone) async throws {
    let reply = await phone.fixture.respond(TestPhone.request(DeviceRoute.events, try phone.askBody(.events)))
    #expect(reply.status == 200)
    #expect(reply.header("Content-Type") == "text/event-stream")
    source = try #require(reply.events)
  }

  /// The next piece's events, by name; nil at the end.
  func next() async throws -> [String: [UInt8]]? {
    guard let piece = await source.next() else { return nil }
    var events: [String: [UInt8]] = [:]
    for event in String(decoding: piece, as: UTF8.self).split(separator: "\n\n") {
      let lines = event.split(separator: "\n", maxSplits: 1)
      guard lines.count == 2, lines[0].hasPrefix("event: "), lines[1].hasPrefix("data: ") else { continue }
      events[String(lines[0].dropFirst(7))] = Array(lines[1].dropFirst(6).utf8)
    }
    return events
  }

  func requests() async throws -> [OpenRequest] {
    let events = try #require(try await next())
    return try RequestsReply(parsing: try #require(events["requests"])).requests
  }
}

struct DeviceEventsTests {
  @Test func beginsWithAllThatThereIs() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let events = try #require(try await TestStream(of: phone).next())
    #expect(try RequestsReply(parsing: try #require(events["requests"])).requests.count == 1)
    #expect(try DeviceStatusReply(parsing: try #require(events["status"])).presence == .present)
  }

  @Test func tellsOfARequestAndMarksItAsSeen() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let stream = try await TestStream(of: phone)
    #expect(try await stream.requests().isEmpty)
    let session = try await fixture.started("alice")
    #expect(try await stream.requests().count == 1)
    #expect(try await fixture.status(of: session).status == .identifying)
  }

  @Test func tellsHowManyMoreAreHeldBack() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let stream = try await TestStream(of: phone)
    #expect(try await stream.requests().map(\.blocked) == [0])
    #expect(try await fixture.start("alice") == .notStarted(reason: "REQUEST_PENDING"))
    fixture.clock.advance(seconds: 1)
    // This makes sure that a change has happened, so that nothing waits.
    try await phone.change(.leave)
    #expect(try await stream.requests().map(\.blocked) == [1])
  }

  @Test func tellsOnceASecondOfWhatIsHeldBack() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let stream = try await TestStream(of: phone)
    _ = try await stream.next()
    for _ in 0..<3 { _ = try await fixture.start("alice") }
    try await phone.change(.leave)
    let events = try #require(try await stream.next())
    #expect(events.keys.sorted() == ["status"])
    fixture.clock.advance(seconds: 1)
    try await phone.change(.return)
    #expect(try await stream.requests().map(\.blocked) == [3])
  }

  @Test func aNewRequestIsToldAtOnceWhateverIsHeldBack() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let stream = try await TestStream(of: phone)
    _ = try await stream.next()
    _ = try await fixture.start("alice")
    _ = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    #expect(try await stream.requests().map(\.blocked) == [1, 0])
  }

  @Test func aRequestThatIsHeldBackWakesThePage() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let user = try await fixture.service.storage.read { [id = fixture.application.id] in
      try User.find("alice", application: id, in: $0)?.id
    }
    let watch = fixture.service.board.watch(.user(try #require(user)))
    _ = try await fixture.start("alice")
    // Events before the end still arrive.
    watch.abandon()
    #expect(await watch.wait(milliseconds: 0))
  }

  @Test func tellsOfPresenceWithoutTheRequests() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let stream = try await TestStream(of: phone)
    _ = try await stream.next()
    try await phone.change(.leave)
    let events = try #require(try await stream.next())
    #expect(events.keys.sorted() == ["status"])
    #expect(try DeviceStatusReply(parsing: try #require(events["status"])).presence == .away)
  }

  @Test func aSilentPageAsksTheDatabaseOnceAMinute() {
    let start = UnixTime(seconds: 1_000)
    var schedule = RefreshSchedule(isTold: false)
    #expect(schedule.isDue(at: start))
    schedule.refreshed(at: start, deadline: nil)
    #expect(!schedule.isDue(at: start.advanced(seconds: 59)))
    #expect(schedule.isDue(at: start.advanced(seconds: 60)))
    // A request runs out, or something has changed.
    schedule.refreshed(at: start, deadline: start.advanced(seconds: 5))
    #expect(schedule.next == start.advanced(seconds: 5))
    schedule.refreshed(at: start, deadline: nil)
    schedule.somethingChanged()
    #expect(schedule.isDue(at: start))
  }

  /// Whoever is told of every change looks half as often.
  @Test func aSilentPageOfADatabaseThatTellsAsksEveryOtherMinute() {
    let start = UnixTime(seconds: 1_000)
    var schedule = RefreshSchedule(isTold: true)
    schedule.refreshed(at: start, deadline: nil)
    #expect(!schedule.isDue(at: start.advanced(seconds: 119)))
    #expect(schedule.isDue(at: start.advanced(seconds: 120)))
  }

  @Test(.timeLimit(.wholeRun)) func aLookOfASilentPageIsOneCall() async throws {
    let counted = Mutex<LosingStorage?>(nil)
    let fixture = try await Fixture { inner in
      let storage = LosingStorage(inner, losing: .max, .before)
      counted.withLock { $0 = storage }
      return storage
    }
    let storage = try #require(counted.withLock { $0 })
    let stream = try await TestStream(of: try await TestPhone.registered(in: fixture))
    _ = try await stream.next()
    let before = storage.calls
    fixture.clock.advance(seconds: RefreshSchedule.silence)
    let next = Task { try await stream.next() }
    while storage.calls == before { await Task.yield() }
    // The look goes on to its end. It has no news, so that the stream ends with the service.
    fixture.service.stopHolding()
    #expect(try await next.value == nil)
    #expect(storage.calls == before + 1)
  }

  @Test func whatWasToldIsNotLookedForAgain() async throws {
    let counted = Mutex<LosingStorage?>(nil)
    let fixture = try await Fixture { inner in
      let storage = LosingStorage(inner, losing: .max, .before)
      counted.withLock { $0 = storage }
      return storage
    }
    let storage = try #require(counted.withLock { $0 })
    let phone = try await TestPhone.registered(in: fixture)
    let stream = try await TestStream(of: phone)
    _ = try await stream.next()
    let before = storage.calls
    let next = Task { try await stream.next() }
    // The task waits by then, or would have asked.
    try await Task.sleep(for: .milliseconds(300))
    #expect(storage.calls == before)
    try await phone.change(.leave)
    #expect(try await next.value?.keys.sorted() == ["status"])
    #expect(storage.calls > before)
  }

  @Test func endsWhenThePhoneIsCutOff() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let stream = try await TestStream(of: phone)
    _ = try await stream.next()
    _ = try await fixture.linkCode(for: "alice", lost: true)
    #expect(try await stream.next() == nil)
  }

  @Test func endsWhenTheServiceStops() async throws {
    let fixture = try await Fixture()
    let stream = try await TestStream(of: try await TestPhone.registered(in: fixture))
    _ = try await stream.next()
    fixture.service.stopHolding()
    #expect(try await stream.next() == nil)
  }

  @Test func endsTheOldestWhereThereAreTooMany() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let oldest = try await TestStream(of: phone)
    _ = try await oldest.next()
    var others: [TestStream] = []
    for _ in 0..<DeviceEvents.greatestCount { others.append(try await TestStream(of: phone)) }
    #expect(try await oldest.next() == nil)
    #expect(try await others[0].next() != nil)
    #expect(fixture.service.board.heldCount <= DeviceEvents.greatestCount + 1)
  }

  @Test func refusesAReplayedQuestion() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let request = TestPhone.request(DeviceRoute.events, try phone.askBody(.events))
    #expect(await fixture.respond(request).events != nil)
    let again = await fixture.respond(request)
    #expect(again.status == 401)
    #expect(again.events == nil)
  }
}
