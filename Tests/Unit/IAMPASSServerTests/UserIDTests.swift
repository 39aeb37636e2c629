import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct UserIDTests {
  @Test(arguments: ["a/b", "100%", "a b", "a+b", "smörgås 🎉", "..", ".", "?x=1", String(repeating: "é", count: 1_000)])
  func takesAnyUserID(_ user: String) async throws {
    let fixture = try await Fixture()
    _ = try await TestPhone.registered(in: fixture, user: user)
    _ = try await fixture.started(user)
  }

  @Test func readsAPlusInAUserIDAsASpace() async throws {
    let fixture = try await Fixture()
    try await fixture.addUser("a b")
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/a+b"
    #expect(await fixture.respond(try fixture.signed("GET", target)).status == 200)
  }

  @Test(arguments: ["", String(repeating: "x", count: 1_001)])
  func refusesAUserIDOutsideItsBounds(_ user: String) async throws {
    let fixture = try await Fixture()
    let reply = await fixture.respond(
      try fixture.signed(
        "POST", "/management/add_users/\(fixture.application.id)", UsersRequest(users: [user]).encoded()))
    #expect(reply.reason == "BAD_USER_ID")
  }

  @Test(arguments: ["%", "%zz", "%ff"])
  func refusesABrokenPath(_ user: String) async throws {
    let fixture = try await Fixture()
    let target = "/management/has_registered_mobile_device/\(fixture.application.id)/" + user
    #expect(await fixture.respond(try fixture.signed("GET", target)).status == 400)
  }
}
