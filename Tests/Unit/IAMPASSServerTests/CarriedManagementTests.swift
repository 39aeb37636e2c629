import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Requests that manage users and phones, through an intermediary who wants to change them.
@Suite struct CarriedManagementTests {
  private func query(_ body: [UInt8]) -> String { "?\(BodyDigest.name)=\(BodyDigest.value(of: body))" }

  @Test(arguments: ["add_users", "delete_users", "send_registration_sms"])
  func aBodyThatWasExchangedChangesNothing(_ call: String) async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    try await fixture.addUser("bob")
    let isMessage = call == "send_registration_sms"
    func body(_ user: String, _ number: String) -> [UInt8] {
      isMessage
        ? RegistrationMessageRequest(phoneNumber: number).encoded() : UsersRequest(users: [user]).encoded()
    }
    let sent = body("alice", "+4915112345678")
    let path = "/management/\(call)/\(fixture.application.id)" + (isMessage ? "/alice" : "")
    for exchanged in [body(call == "add_users" ? "mallory" : "bob", "+4917099999999"), [], sent + [0x20]] {
      let signed = try fixture.signed("POST", path + query(sent), sent)
      let reply = await fixture.respond(
        ServiceRequest(
          method: "POST", target: signed.target, authority: Fixture.authority, headers: signed.headers,
          body: exchanged))
      #expect(reply.status == 400)
      #expect(reply.reason == "WRONG_BODY")
    }
    #expect(try await knows("mallory", fixture) == false)
    #expect(try await knows("bob", fixture))
    let reply = await fixture.respond(try fixture.signed("POST", path + query(sent), sent))
    #expect(reply.status == (call == "add_users" ? 201 : 200))
    #expect(reply.reason == (isMessage ? "SMS_NOT_CONFIGURED" : nil))
  }

  private func knows(_ user: String, _ fixture: Fixture) async throws -> Bool {
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/\(user)"
    return await fixture.respond(try fixture.signed("GET", target)).status == 200
  }

  @Test func theDigestMustFitOnEveryRoute() async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let session = try await fixture.started("alice")
    for method in ["GET", "POST"] {
      let address = method == "GET" ? session.statusURL : session.logoutURL
      let wrong = await fixture.respond(try fixture.signed(method, address + query([0x20]), by: session))
      #expect(wrong.reason == "WRONG_BODY")
      #expect(await fixture.respond(try fixture.signed(method, address + query([]), by: session)).status == 200)
    }
    for target in ["/healthz", "/device/v1/requests"] {
      let request = ServiceRequest(
        method: target == "/healthz" ? "GET" : "POST", target: target + query([0x20]), authority: Fixture.authority)
      #expect(await fixture.respond(request).reason == "WRONG_BODY")
    }
  }

  @Test(arguments: ["device_registration_link", "lost_user_mobile_device"])
  func aLinkIsSealedForWhoAsksForIt(_ call: String) async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let path = "/management/\(call)/\(fixture.application.id)/alice"
    let request = try fixture.signed("GET", path + "?sealed=1", nonce: 4_711)
    let reply = await fixture.respond(request)
    #expect(reply.status == 200)
    #expect(!String(decoding: reply.body, as: UTF8.self).contains("register/"))
    #expect(throws: MessageError.self) { try RegistrationLinkReply(parsing: reply.body) }
    guard case .sealed(let text) = try SealedLinkReply(parsing: reply.body) else {
      Issue.record("not sealed")
      return
    }
    let link = try #require(LinkSeal(secret: fixture.application.secret, nonce: "4711").opened(text))
    #expect(link.hasPrefix(Fixture.origin + "/register/"))
    // The link works.
    let shown = ServiceRequest(
      method: "GET", target: String(link.dropFirst(Fixture.origin.count)), authority: Fixture.authority)
    #expect(await fixture.respond(shown).status == 200)
  }

  /// The published clients do not know sealed links.
  @Test(arguments: ["device_registration_link", "lost_user_mobile_device"])
  func aLinkIsPlainForOthers(_ call: String) async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("alice")
    let path = "/management/\(call)/\(fixture.application.id)/alice"
    let reply = await fixture.respond(try fixture.signed("GET", path + "?display_name=Alice"))
    #expect(try RegistrationLinkReply(parsing: reply.body).registerURL.hasPrefix(Fixture.origin + "/register/"))
  }

  @Test(arguments: ["sealed=", "sealed=2", "sealed", "sealed=1&sealed=1", "sealed=0"])
  func aSealThatIsNotUnderstoodMakesNoLink(_ query: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture)
    let start = "/management/lost_user_mobile_device/\(fixture.application.id)/alice?"
    let reply = await fixture.respond(try fixture.signed("GET", start + query))
    #expect(reply.status == 400)
    let asked = "/management/has_registered_mobile_device/\(fixture.application.id)/alice"
    let device = await fixture.respond(try fixture.signed("GET", asked))
    #expect(try DeviceRegisteredReply(parsing: device.body).isRegistered, "the phone was cut off")
  }
}
