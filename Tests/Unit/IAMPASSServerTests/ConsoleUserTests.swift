import Testing

@testable import IAMPASSServer

/// The console's page of a user.
@Suite struct ConsoleUserTests {
  private static let day: Int64 = 86_400

  /// What the page says of a phone that was not seen for long.
  private func absence(of phone: TestPhone, in fixture: Fixture) async throws -> String? {
    let user = try #require(try await fixture.service.storage.phone(phone.device)?.user)
    // A visit lasts for less than a day.
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let page = await visitor.get("/application/\(fixture.application.id)/user/\(user)").text
    return page.firstMatch(of: /<p class="problem">([^<]*)<\/p>/).map { String($0.1) }
  }

  @Test func aPageThatWasNotOpenedForSixDaysIsShown() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    let storage = fixture.service.storage
    try await storage.markPage(of: phone.device)
    fixture.clock.advance(seconds: 6 * Self.day - 1)
    #expect(try await absence(of: phone, in: fixture) == nil)
    fixture.clock.advance(seconds: 1)
    let said = try #require(try await absence(of: phone, in: fixture))
    #expect(said.contains("The page of this phone was not opened for 6 days."))
    let user = try #require(try await storage.phone(phone.device)?.user)
    try await storage.notePageView(of: ActingPhone(id: phone.device, user: user), at: fixture.clock.now)
    #expect(try await absence(of: phone, in: fixture) == nil)
    fixture.clock.advance(seconds: 9 * Self.day)
    #expect(try await absence(of: phone, in: fixture)?.contains("for 9 days") == true)
  }

  @Test func anAppsKeyIsKeptByNoBrowser() async throws {
    let fixture = try await Fixture()
    let phone = try await TestPhone.registered(in: fixture)
    fixture.clock.advance(seconds: 60 * Self.day)
    #expect(try await absence(of: phone, in: fixture) == nil)
  }
}
