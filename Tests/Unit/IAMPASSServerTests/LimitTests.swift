import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct FailureLimitTests {
  private func counted(_ limits: FailureLimits, _ kind: FailureLimits.Kind, _ count: Int, at now: UnixTime) {
    for _ in 0..<count { limits.count(kind, from: "192.0.2.1", at: now) }
  }

  @Test(arguments: [FailureLimits.Kind.signature(client: "a"), .registration, .answer(device: "a")])
  func whoFailsTooOftenWaitsUntilTheWindowIsOver(_ kind: FailureLimits.Kind) {
    let limits = FailureLimits()
    let now = UnixTime(seconds: 1_000_000)
    let (failures, window) = FailureLimits.allowance(kind)
    counted(limits, kind, failures - 1, at: now)
    #expect(limits.wait(for: kind, from: "192.0.2.1", at: now) == nil)
    counted(limits, kind, 1, at: now)
    #expect(limits.wait(for: kind, from: "192.0.2.1", at: now) == window)
    #expect(limits.wait(for: kind, from: "192.0.2.2", at: now) == nil)
    #expect(limits.wait(for: kind, from: "192.0.2.1", at: now.advanced(seconds: window)) == nil)
  }

  @Test func aFloodOfSourcesTakesBoundedMemory() {
    let limits = FailureLimits()
    let now = UnixTime(seconds: 1_000_000)
    for number in 0..<(3 * FailureLimits.greatestCount) {
      limits.count(.registration, from: "source \(number)", at: now)
    }
    #expect(limits.keptCount <= FailureLimits.greatestCount)
  }

  /// The database of several servers has a row for each.
  @Test(arguments: 0..<4) func whoeverInventsNamesDoesNotChooseHowManyCountersThereAre(_ number: Int) {
    let name = String(repeating: "x", count: 60) + "\(number)"
    for kind in [FailureLimits.Kind.signature(client: name), .registration, .joining, .answer(device: name)] {
      let key = FailureLimits.key(kind, "2001:db8:\(number)::/64")
      #expect(key.wholeMatch(of: /(signature|registration|joining|answer) [0-9a-f]{4}/) != nil, "\(key)")
    }
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("fe80::1%eth0", "fe80:0:0:0::/64"),
  ])
  func anAddressOfIPv6IsItsNetwork(_ address: String, _ text: String) {
    #expect(ClientAddress(address)?.text == text)
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2"), ("192.0.20.7", "192.0.20"), ("2001:db8:1:2::5", "2001:db8:1"), ("::1", "0:0:0"),
  ])
  func anAddressHasAWiderNetwork(_ address: String, _ network: String) {
    #expect(ClientAddress(address)?.widerNetwork == network)
  }

  @Test(
    arguments: [
      ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("0.0.0.0", false),
      ("::", false), ("128.0.0.1", false), ("fe80::1", false),
    ])
  func knowsWhatOnlyThisMachineReaches(_ address: String, isLoopback: Bool) {
    #expect(PeerAddress(address)?.isLoopback == isLoopback)
  }

  @Test func aForwardedAddressCountsFromATrustedProxyAlone() throws {
    let proxy = try #require(PeerAddress("127.0.0.1"))
    func client(_ proxies: [PeerAddress]) -> String {
      let request = ServiceRequest(
        method: "GET", target: "/", authority: nil, headers: [("X-Forwarded-For", "203.0.113.9, 192.0.2.7")],
        peer: "127.0.0.1")
      return TrustedProxies(proxies).client(of: request).text
    }
    #expect(client([]) == "127.0.0.1")
    #expect(client([proxy]) == "192.0.2.7")
  }

  /// U+0600 forms one character with the comma after it.
  @Test func aForwardedAddressIsFoundBehindWhateverTheClientSent() throws {
    let proxy = try #require(PeerAddress("127.0.0.1"))
    for sent in ["\u{600}", "x\u{301}", "x,\u{301}"] {
      let request = ServiceRequest(
        method: "GET", target: "/", authority: nil, headers: [("X-Forwarded-For", sent + ", 192.0.2.7")],
        peer: "127.0.0.1")
      #expect(TrustedProxies([proxy]).client(of: request).text == "192.0.2.7")
    }
  }

  @Test func anUnknownNameTakesLittleMemory() {
    let long = String(repeating: "a" + String(repeating: "\u{301}", count: 500), count: 64)
    #expect(FailureLimits.Kind.cut(long).utf8.count <= 66)
    #expect(FailureLimits.Kind.cut("0123") == "0123")
  }

  @Test func aNeighbourOfAProxyIsNotTrusted() throws {
    let proxy = try #require(PeerAddress("2001:db8::1"))
    func client(_ peer: String) -> String {
      let request = ServiceRequest(
        method: "GET", target: "/", authority: nil, headers: [("X-Forwarded-For", "192.0.2.7")], peer: peer)
      return TrustedProxies([proxy]).client(of: request).text
    }
    #expect(client("2001:db8::1") == "192.0.2.7")
    #expect(client("2001:db8::2") == "2001:db8:0:0::/64")
  }
}

@Suite struct LimitTests {
  private static let failures = FailureLimits.allowance(.signature(client: "")).failures

  /// A service that has counted as many wrong signatures under the application's id as it counts.
  private func hammered() async throws -> (Fixture, target: String) {
    let fixture = try await Fixture()
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/alice"
    for _ in 0..<Self.failures {
      let reply = await fixture.respond(try fixture.signed("GET", target, origin: "https://elsewhere.test"))
      #expect(reply.status == 401)
    }
    return (fixture, target)
  }

  @Test func whoGoesOnWithWrongSignaturesIsToldToWait() async throws {
    let (fixture, target) = try await hammered()
    let reply = await fixture.respond(try fixture.signed("GET", target, origin: "https://elsewhere.test"))
    #expect(reply.status == 429)
    #expect(reply.reason == "TOO_MANY_FAILURES")
    #expect(reply.header("Retry-After") == "60")
    fixture.clock.advance(seconds: 60)
    #expect(await fixture.respond(try fixture.signed("GET", target, origin: "https://elsewhere.test")).status == 401)
  }

  /// Someone behind the same address knows the id, and must not block the right clients.
  @Test func aRightSignatureIsTakenAfterAnyNumberOfWrongOnes() async throws {
    let (fixture, target) = try await hammered()
    for _ in 0..<3 {
      _ = await fixture.respond(try fixture.signed("GET", target, origin: "https://elsewhere.test"))
      #expect(await fixture.respond(try fixture.signed("GET", target)).status == 404)
    }
  }

  @Test func anotherIDOfThatAddressGoesOn() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let credential = try await fixture.service.storage.createHostCredential(
      named: "a", host: "a", of: "shop", at: fixture.clock.now)
    for _ in 0...Self.failures {
      _ = await fixture.respond(
        try fixture.signed(
          "POST", "/authentication/authenticate_user/\(fixture.application.id)/alice",
          origin: "https://elsewhere.test"))
    }
    #expect(await fixture.respond(try fixture.startRequest("alice", context: .init(), by: credential)).status == 202)
  }

  @Test func linksAreNotGuessedForLong() async throws {
    let fixture = try await Fixture()
    for _ in 0..<FailureLimits.allowance(.registration).failures {
      #expect(try await TestPhone.register(in: fixture, code: Secret("guess")).status == 404)
    }
    let reply = try await TestPhone.register(in: fixture, code: Secret("guess"))
    #expect(reply.status == 429)
    #expect(reply.header("Retry-After") == "600")
    fixture.clock.advance(seconds: FailureLimits.allowance(.registration).window)
    #expect(try await TestPhone.register(in: fixture, code: Secret("guess")).status == 404)
  }

  /// Otherwise someone who guesses codes keeps everyone behind a proxy from registering.
  @Test func aRightLinkIsTakenAfterAnyNumberOfGuesses() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let code = try await fixture.linkCode(for: "alice")
    for _ in 0...FailureLimits.allowance(.registration).failures {
      _ = try await TestPhone.register(in: fixture, code: Secret("guess"))
    }
    let shown = ServiceRequest(
      method: "GET", target: "/register/\(code.exposedValue)", authority: Fixture.authority)
    #expect(await fixture.respond(shown).status == 200)
    #expect(try await TestPhone.register(in: fixture, code: code).status == 200)
  }

  @Test func answersAreNotGuessedForLongAndARightOneIsTakenAllTheSame() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let open = try #require(try await phone.list().first)
    let body = try phone.answerBody(.approve, to: open, nonce: "guess")
    for _ in 0..<FailureLimits.allowance(.answer(device: "")).failures {
      #expect(await fixture.respond(TestPhone.request(DeviceRoute.answer, body)).status == 400)
    }
    let reply = await fixture.respond(TestPhone.request(DeviceRoute.answer, body))
    #expect(reply.status == 429)
    #expect(reply.header("Retry-After") != nil)
    #expect(try await phone.answer(.approve, to: open).status == 200)
  }

  /// A wrong signature needs only a phone's id, not its key.
  @Test func wrongSignaturesInAPhonesNameDoNotShutItOut() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let open = try #require(try await phone.list().first)
    let thief = TestPhone(fixture: fixture, key: try DeviceKey.generate(), device: phone.device)
    let body = try thief.answerBody(.deny, to: open)
    for _ in 0..<FailureLimits.allowance(.answer(device: "")).failures {
      #expect(await fixture.respond(TestPhone.request(DeviceRoute.answer, body)).status == 401)
    }
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.answer, body)).status == 429)
    try await phone.approveOnly()
  }

  @Test func anUnknownPhoneShutsOutNoOtherBehindItsAddress() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    let open = try #require(try await phone.list().first)
    let body = Array(#"{"statement":{"device":"nobody"},"signature":"AA=="}"#.utf8)
    for _ in 0...FailureLimits.allowance(.answer(device: "")).failures {
      _ = await fixture.respond(TestPhone.request(DeviceRoute.answer, body))
    }
    #expect(await fixture.respond(TestPhone.request(DeviceRoute.answer, body)).status == 429)
    #expect(try await phone.answer(.approve, to: open).status == 200)
  }
}

@Suite struct DenialTests {
  private func denied(
    _ fixture: Fixture, _ phone: TestPhone, times: Int, context: SignInContext = SignInContext(host: "web-1")
  ) async throws {
    for _ in 0..<times {
      _ = try await fixture.started("alice", context: context)
      try await phone.answer(.deny, to: try #require(try await phone.list().first))
    }
  }

  private func office() async throws -> (Fixture, TestPhone) {
    let fixture = try await Fixture()
    return (fixture, try await TestPhone.registered(in: fixture))
  }

  @Test func aSourceThatWasDeniedThreeTimesIsNotAskedFor() async throws {
    let (fixture, phone) = try await office()
    try await denied(fixture, phone, times: 2)
    fixture.clock.advance(seconds: 599)
    try await denied(fixture, phone, times: 1)
    let reply = await fixture.respond(try fixture.startRequest("alice"))
    #expect(reply.status == 200)
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "TOO_MANY_DENIALS"))
  }

  /// A wrong code counts like a denial.
  @Test func wrongCodesAreDenials() async throws {
    let fixture = try await Fixture(matchCodes: .on)
    let phone = try await TestPhone.registered(in: fixture)
    for _ in 0..<3 {
      let code = try await fixture.started("alice").matchCode
      let request = try #require(try await phone.list().first)
      #expect(try await phone.answer(.approve, to: request, code: code == "00" ? "01" : "00").reason == "WRONG_CODE")
    }
    #expect(try await fixture.start("alice") == .notStarted(reason: "TOO_MANY_DENIALS"))
  }

  @Test func theUsersOtherSourcesGoOn() async throws {
    let (fixture, phone) = try await office()
    try await denied(fixture, phone, times: 3)
    _ = try await fixture.started("alice", context: SignInContext(host: "web-2"))
    _ = try await fixture.started("alice", context: SignInContext(host: "web-1", remoteHost: "192.0.2.9"))
  }

  /// Another user of the computer asks for its owner, and is denied.
  @Test func theUsersOwnRequestsGoOn() async throws {
    let (fixture, phone) = try await office()
    func asked(by name: String?) -> SignInContext {
      SignInContext(host: "web-1", service: "polkit-1", user: "alice", askedBy: name)
    }
    try await denied(fixture, phone, times: 3, context: asked(by: "mallory"))
    #expect(
      try await fixture.start("alice", context: asked(by: "mallory")) == .notStarted(reason: "TOO_MANY_DENIALS"))
    _ = try await fixture.started("alice", context: asked(by: nil))
    _ = try await fixture.started("alice", context: asked(by: "bob"))
  }

  /// Computers that do not name themselves are distinguished by their address.
  @Test func anotherComputerWithoutContextGoesOn() async throws {
    let (fixture, phone) = try await office()
    func start(from peer: String) async throws -> StartReply {
      let request = try fixture.startRequest("alice", context: SignInContext())
      let reply = await fixture.respond(
        ServiceRequest(
          method: request.method, target: request.target, authority: request.authority, headers: request.headers,
          body: request.body, peer: peer))
      return try StartReply(parsing: reply.body)
    }
    for _ in 0..<3 {
      _ = try await start(from: "192.0.2.1")
      try await phone.answer(.deny, to: try #require(try await phone.list().first))
    }
    #expect(try await start(from: "192.0.2.1") == .notStarted(reason: "TOO_MANY_DENIALS"))
    #expect(try await start(from: "192.0.2.2") != .notStarted(reason: "TOO_MANY_DENIALS"))
  }

  @Test func otherUsersOfThatSourceGoOn() async throws {
    let (fixture, phone) = try await office()
    _ = try await TestPhone.registered(in: fixture, user: "bob")
    try await denied(fixture, phone, times: 3)
    _ = try await fixture.started("bob")
  }

  @Test func theSourceIsHeardAgainAfterAQuarterOfAnHour() async throws {
    let (fixture, phone) = try await office()
    try await denied(fixture, phone, times: 3)
    fixture.clock.advance(seconds: 899)
    #expect(try await fixture.start("alice") == .notStarted(reason: "TOO_MANY_DENIALS"))
    fixture.clock.advance(seconds: 1)
    _ = try await fixture.started("alice")
  }

  @Test func denialsFarApartAreNotHammering() async throws {
    let (fixture, phone) = try await office()
    for _ in 0..<4 {
      try await denied(fixture, phone, times: 1)
      fixture.clock.advance(seconds: 301)
    }
    _ = try await fixture.started("alice")
  }

  @Test func aRestartForgetsNothing() async throws {
    let (fixture, phone) = try await office()
    try await denied(fixture, phone, times: 3)
    let reply = try await fixture.restarted().respond(to: try fixture.startRequest("alice"))
    #expect(try StartReply(parsing: reply.body) == .notStarted(reason: "TOO_MANY_DENIALS"))
  }
}
