import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The console's pages of groups.
@Suite struct ConsoleGroupTests {
  private struct GroupFixture {
    let fixture: Fixture
    let visitor: ConsoleVisitor
    let path: String

    init() async throws {
      fixture = try await Fixture()
      (visitor, _) = try await ConsoleVisitor.signedIn(to: fixture, as: .auditor)
      path = "/application/\(fixture.application.id)"
    }

    func list(_ name: String, _ groups: String...) async throws {
      let order = UserListOrder(application: "shop", name: name, groups: groups)
      _ = try await fixture.service.core.storage.listUser(order)
    }

    /// The cells of the page's tables.
    func cells(_ place: String) async -> [String] {
      await visitor.get(path + place).text.matches(
        of: /<t[hd] (?:scope="row" )?role="(?:rowheader|cell)"[^>]*>(.*?)<\/t[hd]>/
      )
      .map { String($0.1.replacing(/<[^>]*>/, with: "")) }
    }
  }

  @Test func groupsAreListedWithTheirUsersAndComputers() async throws {
    let office = try await GroupFixture()
    #expect(await office.visitor.get(office.path + "/groups").text.contains("No groups yet."))
    try await office.list("alice", "lab", "office")
    try await office.list("bob", "lab")
    #expect(await office.cells("/groups") == ["lab", "2", "0", "0", "office", "1", "0", "0"])
    #expect(await office.cells("/groups?q=OFF") == ["office", "1", "0", "0"])
    #expect(await office.visitor.get(office.path + "/groups?q=x").text.contains("No more groups."))
    let page = await office.visitor.get(office.path + "/groups").text
    #expect(page.contains("<a href=\"/console\(office.path)/group?name=lab\">lab</a>"))
    #expect(await office.visitor.get(office.path).text.contains("href=\"/console\(office.path)/groups\""))
  }

  @Test func aGroupLeadsToItsUsersAndTheyToIt() async throws {
    let office = try await GroupFixture()
    try await office.list("alice", "lab", "office")
    try await office.list("bob", "office")
    let group = await office.visitor.get(office.path + "/group?name=office").text
    let users = group.matches(of: /href="\/console([^"]*\/user\/[0-9]+)"/).map { String($0.1) }
    #expect(users.count == 2)
    let alice = await office.visitor.get(try #require(users.first)).text
    #expect(alice.contains("User alice"))
    for name in ["lab", "office"] {
      #expect(alice.contains("href=\"/console\(office.path)/group?name=\(name)\""), "\(name)")
    }
    let row = await office.cells("/group?name=lab")
    #expect(row.first?.hasPrefix("alice ") == true && row.dropFirst().first == "lab, office")
  }

  @Test func manyUsersAndGroupsComeInPages() async throws {
    let office = try await GroupFixture()
    for number in 100..<160 { try await office.list("user\(number)", "all", "g\(number)") }
    for (first, count) in [("/groups?q=g1", 60), ("/group?name=all", 60)] {
      var place: String? = first
      var rows = 0
      var pages = 0
      while let next = place, pages < 9 {
        let text = await office.visitor.get(office.path + next).text
        rows += text.matches(of: /role="rowheader"/).count
        pages += 1
        let more = text.firstMatch(of: /href="\/console\/application\/[^\/]*([^"]*)">More (?:users|groups)</)?.1
        place = more.map { String($0).replacing("&amp;", with: "&") }
      }
      #expect((rows, pages) == (count, 2))
    }
  }

  /// A browser would leave out of a path what is called like the folder above.
  @Test(arguments: ["..", "a@b$", "_-."]) func anyNameThatAGroupMayHaveHasAPage(_ name: String) async throws {
    let office = try await GroupFixture()
    try await office.list("alice", name)
    let list = await office.visitor.get(office.path + "/groups").text
    let link = try #require(list.firstMatch(of: /href="\/console([^"]*\/group\?name=[^"]*)"/)).1
    let page = await office.visitor.get(String(link)).text
    #expect(page.contains("<h1 id=\"title\">Group \(HTML.escaped(name))</h1>") && page.contains("alice"))
  }

  @Test(arguments: ["/group", "/group?name=", "/group?name=lab", "/group?name=%3Cb%3E", "/group/lab", "/groups/lab"])
  func aGroupThatIsNotThereIsNotFound(_ place: String) async throws {
    let office = try await GroupFixture()
    #expect(await office.visitor.get(office.path + place).status == 404)
    #expect(await office.visitor.get("/application/nothing/groups").status == 404)
  }
}
