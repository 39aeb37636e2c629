import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The owner of one host's credential chooses service and remote host, and so the source.
@Suite struct HostHammeringTests {
  private func office() async throws -> (Fixture, TestPhone, HostCredential) {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    return (fixture, phone, try await credential(in: fixture, host: "laptop-7"))
  }

  private func credential(in fixture: Fixture, host: String) async throws -> HostCredential {
    try await fixture.service.storage.createHostCredential(
      named: host, host: host, of: "shop", at: fixture.clock.now)
  }

  /// As from a new source.
  private func start(
    _ fixture: Fixture, _ credential: HostCredential, from source: Int
  ) async throws -> StartReply {
    let context = SignInContext(service: "service-\(source)", remoteHost: "192.0.2.\(source)")
    return try StartReply(
      parsing: await fixture.respond(try fixture.startRequest("alice", context: context, by: credential)).body)
  }

  private func hammer(
    _ fixture: Fixture, _ phone: TestPhone, _ credential: HostCredential, times: Int, answer: DeviceAnswer
  ) async throws {
    for source in 0..<times {
      guard case .started = try await start(fixture, credential, from: source) else { throw Fixture.NotStarted() }
      try await phone.answer(answer, to: try #require(try await phone.list().first))
    }
  }

  @Test(arguments: [DeviceAnswer.deny, .notMe])
  func aHostThatIsDeniedUnderManyNamesIsNotHeardOfForAWhile(_ answer: DeviceAnswer) async throws {
    let (fixture, phone, credential) = try await office()
    try await hammer(fixture, phone, credential, times: Denials.greatestCountOfHost, answer: answer)
    #expect(try await start(fixture, credential, from: 100) == .notStarted(reason: "TOO_MANY_DENIALS"))
    fixture.clock.advance(seconds: Denials.pause)
    #expect(try await start(fixture, credential, from: 100) != .notStarted(reason: "TOO_MANY_DENIALS"))
  }

  /// Bots at ssh's port are denied, each from its own address. The owner's sudo on that host still works.
  @Test func fewerDenialsLeaveTheHostsOtherSourcesAlone() async throws {
    let (fixture, phone, credential) = try await office()
    try await hammer(fixture, phone, credential, times: Denials.greatestCountOfHost - 1, answer: .deny)
    guard case .started = try await start(fixture, credential, from: 100) else { throw Fixture.NotStarted() }
  }

  /// Nobody knows any more whether such a request came over the network.
  @Test func aDamagedDenialCountsForBothKindsAndRefusesNothingByItself() async throws {
    let (fixture, phone, credential) = try await office()
    try await hammer(fixture, phone, credential, times: Denials.greatestCountOfHost - 1, answer: .deny)
    try await fixture.service.storage.write { try $0.execute(sql: "UPDATE session SET context = '{'") }
    guard case .started = try await start(fixture, credential, from: 100) else { throw Fixture.NotStarted() }
    try await phone.answer(.deny, to: try #require(try await phone.list().first))
    #expect(try await start(fixture, credential, from: 101) == .notStarted(reason: "TOO_MANY_DENIALS"))
  }

  @Test func theUsersOtherHostsGoOn() async throws {
    let (fixture, phone, credential) = try await office()
    try await hammer(fixture, phone, credential, times: Denials.greatestCountOfHost, answer: .deny)
    let other = try await self.credential(in: fixture, host: "laptop-8")
    guard case .started = try await start(fixture, other, from: 0) else { throw Fixture.NotStarted() }
  }

  @Test func oneHostDoesNotFillTheUsersPlaces() async throws {
    let (fixture, phone, credential) = try await office()
    var started = 0
    for source in 0..<30 {
      if case .started = try await start(fixture, credential, from: source) { started += 1 }
    }
    #expect(started == 5)
    #expect(try await start(fixture, credential, from: 100) == .notStarted(reason: "REQUEST_PENDING"))
    let other = try await self.credential(in: fixture, host: "laptop-8")
    guard case .started = try await start(fixture, other, from: 0) else { throw Fixture.NotStarted() }
    // The oldest request shows how many more were blocked.
    #expect(try await phone.list().compactMap(\.blocked).max() == 26)
  }

  /// Nine strangers at the host's sshd are denied. The owner at its keyboard is still asked.
  @Test(arguments: [DeviceAnswer.deny, .notMe])
  func deniedStrangersDoNotBlockTheUserAtTheKeyboard(_ answer: DeviceAnswer) async throws {
    let (fixture, phone, credential) = try await office()
    try await hammer(fixture, phone, credential, times: Denials.greatestCountOfHost, answer: answer)
    #expect(try await start(fixture, credential, from: 100) == .notStarted(reason: "TOO_MANY_DENIALS"))
    let own = try fixture.startRequest("alice", context: SignInContext(service: "sudo"), by: credential)
    guard case .started = try StartReply(parsing: await fixture.respond(own).body) else { throw Fixture.NotStarted() }
  }

  @Test func aHostThatIsDeniedLocallyUnderManyNamesIsNotHeardOfForAWhile() async throws {
    let (fixture, phone, credential) = try await office()
    func local(_ number: Int) async throws -> StartReply {
      let request = try fixture.startRequest("alice", context: .init(service: "service-\(number)"), by: credential)
      return try StartReply(parsing: await fixture.respond(request).body)
    }
    for number in 0..<Denials.greatestCountOfHost {
      guard case .started = try await local(number) else { throw Fixture.NotStarted() }
      try await phone.answer(.deny, to: try #require(try await phone.list().first))
    }
    #expect(try await local(100) == .notStarted(reason: "TOO_MANY_DENIALS"))
    guard case .started = try await start(fixture, credential, from: 0) else { throw Fixture.NotStarted() }
  }

  /// Requests of several hosts, or with the application's own credential, may exceed one host's limit.
  @Test func strangersEverywhereLeaveTheUserAtAKeyboardAPlace() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    func start(_ context: SignInContext) async throws -> StartReply {
      try await fixture.start("alice", context: context)
    }
    for number in 0..<OpenRequestLimit.greatestOfUser {
      _ = try await fixture.started("alice", context: .init(host: "web-\(number)", remoteHost: "192.0.2.1"))
    }
    #expect(
      try await start(SignInContext(host: "web-100", remoteHost: "192.0.2.1")) == .notStarted(reason: "REQUEST_PENDING")
    )
    for number in 0..<OpenRequestLimit.greatestOfUser {
      _ = try await fixture.started("alice", context: .init(host: "web-\(number)", service: "sudo"))
    }
    #expect(
      try await start(SignInContext(host: "web-100", service: "sudo")) == .notStarted(reason: "REQUEST_PENDING"))
  }

  @Test func strangersAtAHostLeaveItsOwnUsersTheirPlaces() async throws {
    let (fixture, _, credential) = try await office()
    for source in 0..<6 { _ = try await start(fixture, credential, from: source) }
    let own = try fixture.startRequest("alice", context: SignInContext(service: "sudo"), by: credential)
    guard case .started = try StartReply(parsing: await fixture.respond(own).body) else { throw Fixture.NotStarted() }
  }
}
