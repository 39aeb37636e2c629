import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct SignatureTests {
  private func target(_ fixture: Fixture) -> String {
    "/management/has_registered_mobile_device/\(fixture.application.id)/alice"
  }

  @Test(arguments: SigningScheme.allCases)
  func takesBothSchemes(_ scheme: SigningScheme) async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    #expect(await fixture.respond(try fixture.signed("GET", target(fixture), scheme: scheme)).status == 200)
  }

  @Test(arguments: Dialect.allCases.flatMap(\.timestampHeaders).flatMap { [$0, $0.lowercased(), $0.uppercased()] })
  func takesEverySpellingOfTheTimestamp(_ name: String) async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let full = try fixture.signed("GET", target(fixture))
    let request = ServiceRequest(
      method: "GET", target: full.target, authority: Fixture.authority,
      headers: [
        ("authentication", full.values(of: ["Authentication"])[0]), (name, "\(fixture.clock.now.seconds)"),
      ])
    #expect(await fixture.respond(request).status == 200)
  }

  @Test func takesThePathWithoutItsManagementPart() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let short = "/has_registered_mobile_device/\(fixture.application.id)/alice"
    #expect(await fixture.respond(try fixture.signed("GET", short)).status == 200)
  }

  @Test func refusesAReplayedNonce() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let request = try fixture.signed("GET", target(fixture))
    #expect(await fixture.respond(request).status == 200)
    let second = await fixture.respond(request)
    #expect(second.status == 401)
    #expect(second.reason == "NONCE_REPLAYED")
  }

  @Test func refusesAReplayedNonceAfterARestart() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let request = try fixture.signed("GET", target(fixture))
    #expect(await fixture.respond(request).status == 200)
    #expect(try await fixture.restarted().respond(to: request).reason == "NONCE_REPLAYED")
  }

  @Test func stillRefusesAReplayOnceOldNoncesAreForgotten() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let request = try fixture.signed("GET", target(fixture))
    #expect(await fixture.respond(request).status == 200)
    fixture.clock.advance(seconds: 601)
    try await fixture.service.tidy()
    #expect(await fixture.respond(request).reason == "TIMESTAMP_OUTSIDE_WINDOW")
  }

  @Test func aNonceWithLeadingZerosIsTheSameNonce() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    #expect(await fixture.respond(try fixture.signed("GET", target(fixture), nonce: 7)).status == 200)
    let signer = try RequestSigner(
      clientID: fixture.application.id, secret: fixture.application.secret, scheme: .documented)
    let time = "\(fixture.clock.now.seconds)"
    let header = try #require(
      signer.authentication(nonce: "007", timestamp: time, uri: Fixture.origin + target(fixture)))
    let request = ServiceRequest(
      method: "GET", target: target(fixture), authority: Fixture.authority,
      headers: [("Authentication", header), (Dialect.iampass.timestampHeaders[0], time)])
    #expect(await fixture.respond(request).reason == "NONCE_REPLAYED")
  }

  /// The published clients leave out everything up to the last `://` from the signed text. An attacker could exchange
  /// that part.
  @Test(arguments: SigningScheme.allCases)
  func refusesAnAddressWithASecondMarker(_ scheme: SigningScheme) async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    try await fixture.addUser("mallory")
    for path in ["/authentication/authenticate_user/", "/management/lost_user_mobile_device/"] {
      let method = path.hasPrefix("/management") ? "GET" : "POST"
      let signed = try fixture.signed(method, path + "\(fixture.application.id)/mallory", scheme: scheme)
      for start in ["?x=", "?", "?display_name=https"] {
        let target = path + "\(fixture.application.id)/alice" + start + "://" + Fixture.authority + signed.target
        let moved = ServiceRequest(
          method: method, target: target, authority: Fixture.authority, headers: signed.headers)
        let reply = await fixture.respond(moved)
        #expect(reply.status == 400)
        #expect(reply.reason == "BAD_REQUEST")
      }
    }
    #expect(try await phone.list().isEmpty)
    let ask = "/management/has_registered_mobile_device/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("GET", ask))
    #expect(try DeviceRegisteredReply(parsing: reply.body).isRegistered)
  }

  @Test(arguments: SigningScheme.allCases)
  func takesAUserWhoseIdIsAnAddress(_ scheme: SigningScheme) async throws {
    let fixture = try await Fixture()
    let user = "https://example.org/alice?x=://y"
    try await fixture.addUser(user)
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/" + PercentEncoding.encode(user)
    #expect(await fixture.respond(try fixture.signed("GET", target, scheme: scheme)).status == 200)
  }

  /// The signed text has no separator between address and time stamp.
  @Test(arguments: SigningScheme.allCases)
  func takesATimestampInItsOneSpellingAlone(_ scheme: SigningScheme) async throws {
    let fixture = try await Fixture()
    for user in ["token1", "token10"] { try await fixture.addUser(user) }
    let start = "/management/has_registered_mobile_device/\(fixture.application.id)/token1"
    let time = "\(fixture.clock.now.seconds)"
    for moved in ["0", "+", "00", "-", "+0"] {
      let signed = try fixture.signed("GET", start + moved, scheme: scheme)
      let request = ServiceRequest(
        method: "GET", target: start, authority: Fixture.authority,
        headers: [
          ("Authentication", signed.values(of: ["Authentication"])[0]),
          (Dialect.iampass.timestampHeaders[0], moved + time),
        ])
      let reply = await fixture.respond(request)
      #expect(reply.status == 401)
      #expect(reply.reason == "TIMESTAMP_MISSING", "\(moved)")
    }
    #expect(await fixture.respond(try fixture.signed("GET", start, scheme: scheme)).status == 200)
  }

  @Test func aDurationKeepsItsDigits() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let path = "/authentication/authenticate_user/\(fixture.application.id)/alice?duration_seconds="
    let signed = try fixture.signed("POST", path + "43200")
    let request = ServiceRequest(
      method: "POST", target: path + "432", authority: Fixture.authority,
      headers: [
        ("Authentication", signed.values(of: ["Authentication"])[0]),
        (Dialect.iampass.timestampHeaders[0], "00\(fixture.clock.now.seconds)"),
      ])
    #expect(await fixture.respond(request).reason == "TIMESTAMP_MISSING")
  }

  @Test(arguments: [-301, 301])
  func refusesATimestampOutsideTheWindow(_ offset: Int64) async throws {
    let fixture = try await Fixture()
    let request = try fixture.signed("GET", target(fixture))
    fixture.clock.advance(seconds: offset)
    #expect(await fixture.respond(request).reason == "TIMESTAMP_OUTSIDE_WINDOW")
  }

  @Test func refusesAnotherPath() async throws {
    let fixture = try await Fixture()
    let signed = try fixture.signed("GET", target(fixture))
    let moved = ServiceRequest(
      method: "GET", target: target(fixture) + "x", authority: Fixture.authority, headers: signed.headers)
    #expect(await fixture.respond(moved).reason == "SIGNATURE_REFUSED")
  }

  @Test func refusesAnotherHost() async throws {
    let fixture = try await Fixture()
    let request = try fixture.signed("GET", target(fixture), origin: "https://elsewhere.test")
    #expect(await fixture.respond(request).reason == "SIGNATURE_REFUSED")
  }

  @Test func refusesAnotherApplication() async throws {
    let fixture = try await Fixture()
    let other = try await fixture.service.storage.createApplication(named: "other", at: fixture.clock.now)
    let request = try fixture.signed("GET", "/management/has_registered_mobile_device/\(other.id)/alice")
    #expect(await fixture.respond(request).status == 401)
  }

  @Test func refusesARequestWithoutASignature() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(
      ServiceRequest(method: "GET", target: target(fixture), authority: Fixture.authority))
    #expect(reply.status == 401)
    #expect(reply.reason == "AUTHENTICATION_MISSING")
  }

  @Test func anUnknownApplicationIsNotFound() async throws {
    let fixture = try await Fixture()
    let target = "/management/has_registered_mobile_device/nobody/alice"
    let reply = await fixture.respond(try fixture.signed("GET", target))
    #expect(reply.status == 404)
    #expect(reply.reason == "UNKNOWN_APPLICATION")
  }

  @Test func aRefusedSignatureSpendsNoNonce() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let signed = try fixture.signed("GET", target(fixture), nonce: 99)
    let wrong = ServiceRequest(
      method: "GET", target: target(fixture) + "x", authority: Fixture.authority, headers: signed.headers)
    #expect(await fixture.respond(wrong).status == 401)
    #expect(await fixture.respond(signed).status == 200)
  }

  @Test func signsRepliesAlsoToWhatItRefuses() async throws {
    let fixture = try await Fixture()
    let request = try fixture.signed("GET", target(fixture))
    let reply = await fixture.respond(request)
    #expect(reply.status == 404)
    #expect(try reply.isSigned(for: request, by: fixture.application.secret))
  }

  @Test(arguments: SigningScheme.allCases)
  func theSecondSignatureIsOverWhatWasAsked(_ scheme: SigningScheme) async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    // Some clients sign the port and others leave it out. Each checks what it signed itself.
    for origin in [Fixture.origin, Fixture.origin + ":443"] {
      for user in ["alice", "nobody"] {
        let target = "/management/has_registered_mobile_device/\(fixture.application.id)/" + user
        let request = try fixture.signed("GET", target, scheme: scheme, origin: origin)
        let reply = await fixture.respond(request)
        let address = (scheme == .client ? String(origin.dropFirst("https://".count)) : origin) + target
        #expect(try reply.isSigned(for: request, at: address, by: fixture.application.secret))
        #expect(try !reply.isSigned(for: request, at: address + "x", by: fixture.application.secret))
        // Members that older clients read are unchanged.
        #expect(try reply.isSigned(for: request, by: fixture.application.secret))
      }
    }
  }

  @Test func aSessionsRepliesAreSignedForWhatItAsked() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    for (method, address) in [("GET", session.statusURL), ("POST", session.logoutURL)] {
      let request = try fixture.signed(method, address, by: session)
      let reply = await fixture.respond(request)
      #expect(try reply.isSigned(for: request, at: address, by: fixture.application.secret))
    }
  }

  @Test func announcesWhatItsSignaturesCover() async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(
      ServiceRequest(method: "GET", target: ServiceAnnouncement.path, authority: Fixture.authority))
    let announced = try ServiceAnnouncement(parsing: reply.body)
    #expect(announced.signedReplies && announced.signedTargets && announced.bodyDigests && announced.sealedLinks)
  }

  @Test func doesNotSignRepliesToUnverifiedClients() async throws {
    let fixture = try await Fixture()
    let request = try fixture.signed("GET", target(fixture), origin: "https://elsewhere.test")
    let reply = await fixture.respond(request)
    #expect(reply.header(ReplySignature.header) == nil)
    #expect(reply.header(ReplySignature.targetHeader) == nil)
  }

  @Test(arguments: [
    ("https://public.test", "https://public.test", ""),
    // The proxy passes the path on, or removes its own part.
    ("https://public.test/iam", "https://public.test", "/iam"),
    ("https://public.test/iam", "https://public.test/iam", ""), ("https://public.test", "https://public.test:443", ""),
  ])
  func checksAgainstThePublicAddress(_ configured: String, _ origin: String, _ prefix: String) async throws {
    let fixture = try await Fixture(publicURL: configured)
    let request = try fixture.signed("GET", prefix + target(fixture), origin: origin)
    #expect(await fixture.respond(request).reason == "UNKNOWN_USER")
  }
}
