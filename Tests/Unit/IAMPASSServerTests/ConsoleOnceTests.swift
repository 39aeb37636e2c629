import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// What the console says once, and what it says to do with it.
@Suite struct ConsoleOnceTests {
  private func office() async throws -> (ConsoleVisitor, String) {
    let fixture = try await Fixture()
    return (try await ConsoleVisitor.admitted(to: fixture), "/application/\(fixture.application.id)")
  }

  @Test func aNewApplicationShowsItsNameAndWhatIsNext() async throws {
    let (visitor, _) = try await office()
    let page = await visitor.post("/applications", ["name": "Office <b>"]).text
    #expect(page.contains("<h1 id=\"title\">New application Office &lt;b&gt;</h1>"))
    let next = try #require(page.range(of: "Next: its computers and users")).lowerBound
    #expect(next < (try #require(page.range(of: "application_secret = ")).lowerBound))
    #expect(page.contains("/console/joins\">computers</a>"))
    #expect(page.contains(/iampassctl setup (--server \S+ )?--secret-file \/root\/iampass-credential</))
  }

  @Test func aNewSecretNamesItsApplication() async throws {
    let (visitor, path) = try await office()
    #expect(await visitor.post(path + "/secret", [:]).text.contains("New secret of shop</h1>"))
  }

  @Test func aHostCredentialSaysWhereItGoes() async throws {
    let (visitor, path) = try await office()
    let page = await visitor.post(path + "/credentials", ["name": "laptop", "host": "laptop-7"]).text
    let steps = [
      "On laptop-7, as root", "<pre>(umask 077; cat &gt;/root/iampass-credential)</pre>", "host = laptop-7",
      "<code>/etc/iampass/credentials</code>", "iampassctl setup", "<pre>rm /root/iampass-credential</pre>",
    ]
    let places = try steps.map { try #require(page.range(of: $0), "\($0)").lowerBound }
    #expect(places == places.sorted())
  }

  /// The service must not know a pin: computers would take it from the service that a phone's keys are its own.
  @Test func aUsersLinkHasNoPinAndSaysWhatPinsThePhone() async throws {
    let (visitor, path) = try await office()
    try await visitor.fixture.addUser("bob")
    let page = await visitor.post(path + "/user/1/link", ["display_name": "Bob"]).text
    let link = try #require(page.firstMatch(of: /<pre id="link">([^<]*)<\/pre>/)).1
    #expect(link.contains("/register/") && !link.contains("#"))
    #expect(page.contains("<pre>iampassctl phone trust USER</pre>"))
    let administrator = await visitor.post("/administrators", ["name": "ada", "role": "admin"]).text
    #expect(administrator.contains("/register/") && !administrator.contains("phone trust"))
  }

  @Test func aUserIsAddedByAnAdministratorsOwnPageAlone() async throws {
    let (visitor, path) = try await office()
    let storage = visitor.fixture.service.storage
    #expect(await visitor.get(path).text.contains(/The next page has a link\s+for the user's phone/))
    let fields = ["name": "dora", "groups": "lab"]
    #expect(await visitor.post(path + "/users", fields.merging(["token": "0"]) { $1 }).status == 403)
    #expect(await visitor.post(path + "/users", fields, origin: "https://elsewhere.example").status == 403)
    #expect(try await storage.listedUsers(of: "shop").isEmpty)
    let page = await visitor.post(path + "/users", fields).text
    #expect(page.contains("dora's phone opens this link"))
    #expect(try await storage.listedUsers(of: "shop").map(\.name) == ["dora"])
    let entry = try await storage.auditEntries(after: 0, limit: 1_000).last { $0.event == "user listed" }
    #expect(entry?["account"] == "dora" && entry?["administrator"] == "console link")
  }
}
