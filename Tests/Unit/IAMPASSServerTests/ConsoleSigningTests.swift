import DeviceProtocol
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What the console says of signatures, and whose phone it has asked.
@Suite struct ConsoleSigningTests {
  private func visitor(_ office: SigningFixture, role: AdministratorRole = .admin) async throws -> ConsoleVisitor {
    _ = try await office.storage.setAdministrator("ada", role: role, keepsOne: false, at: office.now)
    return try await ConsoleVisitor.signedIn(to: office.fixture, as: role, by: office.phone).0
  }

  @Test func changesAreListedAndTheOwnPhoneSignsThem() async throws {
    let office = try await SigningFixture()
    try await office.list("bob", groups: ["office"])
    let visitor = try await visitor(office)
    let path = "/application/\(office.application)"
    #expect(await visitor.get("").text.contains("No list was signed yet."))
    #expect(await visitor.get(path).text.contains("<li>add bob (office)</li>"))
    let reply = await visitor.post(path + "/sign", [:])
    #expect(reply.status == 303)
    try await office.approve()
    let page = await visitor.get(path).text
    #expect(page.contains("Everything is signed.") && page.contains("signed by ada"))
    #expect(await !visitor.get("").text.contains("Not signed"))
  }

  @Test func aNewPhoneIsTakenIntoTheSetFromThePage() async throws {
    let office = try await SigningFixture()
    _ = try await TestPhone.administrator(in: office.fixture, "bo", .admin)
    let visitor = try await visitor(office)
    #expect(await visitor.get("/administrators").text.contains("add phone of bo"))
    #expect(await visitor.post("/administrators/sign", [:]).status == 303)
    try await office.approve()
    #expect(await visitor.get("/administrators").text.contains("Set number 2"))
  }

  @Test func withoutASetThePageSaysHowToBegin() async throws {
    let office = try await SigningFixture(starts: false)
    try await office.list("bob")
    let visitor = try await visitor(office)
    #expect(await visitor.get("/administrators").text.contains("start-signing"))
    #expect(await !visitor.get("").text.contains("Not signed"))
    let path = "/application/\(office.application)"
    #expect(await !visitor.get(path).text.contains("Signatures"))
    #expect(await visitor.post(path + "/sign", [:]).status != 303)
  }

  @Test func aBrowserThatCameByALinkHasNoPhoneToAsk() async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let visitor = try await ConsoleVisitor.admitted(to: office.fixture)
    let path = "/application/\(office.application)"
    #expect(await !visitor.get(path).text.contains("Have my phone sign this"))
    #expect(await visitor.post(path + "/sign", [:]).status != 303)
    #expect(try await office.phone.list().isEmpty)
  }

  @Test(arguments: [AdministratorRole.auditor, .helpdesk])
  func othersReadOnly(_ role: AdministratorRole) async throws {
    let office = try await SigningFixture()
    try await office.list("bob")
    let visitor = try await visitor(office, role: role)
    let path = "/application/\(office.application)"
    #expect(await visitor.get(path).text.contains("add bob"))
    #expect(await visitor.post(path + "/sign", [:]).reason == "ROLE_TOO_LOW")
    #expect(await visitor.post("/administrators/sign", [:]).reason == "ROLE_TOO_LOW")
  }

  @Test func theMetricsCountWhatIsNotSigned() async throws {
    let office = try await SigningFixture()
    try await office.list("bob", "carol")
    let text = await office.fixture.service.patientMetrics()
    #expect(text.contains("iampass_unsigned_lists 1\n") && text.contains("iampass_unsigned_changes 2\n"))
    #expect(try await office.sign() == .signed)
    #expect(await office.fixture.service.patientMetrics().contains("iampass_unsigned_lists 0\n"))
  }
}
