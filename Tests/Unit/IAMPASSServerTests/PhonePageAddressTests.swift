import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// If nothing rings the page, the user must open it by hand: the terminal shows its address.
@Suite struct PhonePageAddressTests {
  private func office() async throws -> (Fixture, TestPhone) {
    let fixture = try await Fixture()
    return (fixture, try await TestPhone.registered(in: fixture))
  }

  private func open(_ phone: TestPhone) async throws { _ = try await TestStream(of: phone) }

  @Test func aPageWithoutPushIsNamed() async throws {
    let (fixture, phone) = try await office()
    try await open(phone)
    #expect(try await fixture.started("alice").phonePage == "https://iampass.test/phone/")
  }

  /// `iampass-phone` does not open a stream. It polls.
  @Test func aPhoneWithoutAPageGetsNoAddress() async throws {
    let (fixture, phone) = try await office()
    _ = try await phone.list()
    #expect(try await fixture.started("alice").phonePage == nil)
  }

  @Test func aPhoneWithPushGetsNoPageAddressAndOneWithoutGetsItAgain() async throws {
    let (fixture, phone) = try await office()
    try await open(phone)
    #expect(try await phone.subscribe(PushTests.subscription).status == 200)
    #expect(try await fixture.started("alice").phonePage == nil)
    #expect(try await phone.subscribe(nil).status == 200)
    #expect(try await fixture.started("alice", context: SignInContext(host: "web-2")).phonePage != nil)
  }

  @Test func theNextPhoneIsCheckedAgain() async throws {
    let (fixture, phone) = try await office()
    try await open(phone)
    _ = try await TestPhone.registered(in: fixture, lost: true)
    #expect(try await fixture.started("alice").phonePage == nil)
  }

  @Test func thePageIsBelowThePublicAddress() async throws {
    let (fixture, phone) = try await office()
    try await open(phone)
    let service = try fixture.restarted(publicURL: "https://iampass.test/iam")
    let reply = await service.respond(
      to: try fixture.signed(
        "POST", "/authentication/authenticate_user/\(fixture.application.id)/alice", origin: "https://iampass.test/iam")
    )
    guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
    #expect(session.phonePage == "https://iampass.test/iam/phone/")
  }

  /// The terminal shows the service's text.
  @Test func theReplyThatNamesItIsSigned() async throws {
    let (fixture, phone) = try await office()
    try await open(phone)
    let request = try fixture.startRequest("alice")
    let reply = await fixture.respond(request)
    guard case .started(let session) = try StartReply(parsing: reply.body) else { throw Fixture.NotStarted() }
    #expect(session.phonePage != nil)
    #expect(try reply.isSigned(for: request, by: fixture.application.secret))
  }
}
