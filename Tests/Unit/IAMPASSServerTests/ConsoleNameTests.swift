import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// By what names the console calls users.
@Suite struct ConsoleNameTests {
  private static let token = "0123456789abcdef0123456789abcdef"

  @Test(arguments: StorageEngine.allCases)
  func aUserIsCalledByTheListThenByPhoneAndLink(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let id = try await room.addUser(Self.token)
    func known() async throws -> KnownUser? {
      let one = try await room.storage.user(id, of: room.application.id)?.user.known
      let listed = try await room.storage.application(room.application.id, usersAfter: 0)?.users.first?.known
      #expect(one == listed)
      return one
    }
    #expect(try await known() == KnownUser(listed: nil, told: nil, called: nil, id: Self.token))
    func link(_ name: String, _ code: String) async throws {
      let order = LinkOrder(
        code: Secret(code), user: Self.token, application: room.application.id, displayName: name, loss: nil)
      #expect(try await room.storage.makeLink(order, at: room.now) != nil)
      room.clock.advance(seconds: 1)
    }
    try await link("Carol", "1")
    #expect(try await known()?.text == "Carol (01234567…)")
    // Whoever made this one said no name.
    try await link("", "2")
    #expect(try await known()?.name == nil)
    _ = try await room.storage.listUser(UserListOrder(application: "shop", name: "dora", groups: []))
    let dora = try #require(try await room.storage.application(room.application.id, usersAfter: id)?.users.first)
    #expect(dora.known.name == "dora" && dora.known.shownID.hasSuffix("…"))
  }

  @Test(arguments: StorageEngine.allCases)
  func aUserKeepsTheNameOfAPhoneThatIsGone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone(of: Self.token)
    func known() async throws -> KnownUser? {
      try await room.storage.application(room.application.id, usersAfter: 0)?.users.first?.known
    }
    #expect(try await known()?.name == "Alice")
    #expect(try await room.storage.unregister(phone, at: room.now) != nil)
    // The link that the phone was registered by is forgotten, too.
    room.clock.advance(seconds: 3 * 86_400)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await known()?.name == "Alice")
  }

  @Test func theAuditNamesWhomItIsAboutAndWhyInWords() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    try await fixture.addUser(Self.token)
    func who() async throws -> String {
      let page = await visitor.get("/audit").text
      let row = try #require(page.firstMatch(of: /<td[^>]*>user added<\/td>\s*<td[^>]*>(.*?)<\/td>/))
      return String(row.1)
    }
    #expect(try await who() == "<em>without a name</em> <small>01234567…</small>")
    let path = "/application/\(fixture.application.id)/user/1"
    _ = await visitor.post(path + "/link", ["display_name": "Carol"])
    #expect(try await who() == "Carol <small>01234567…</small>")
    _ = await visitor.post(path + "/delete", [:])
    #expect(try await who() == "user 1, deleted")
    let phone = try await TestPhone.registered(in: fixture)
    _ = try await fixture.started("alice")
    try await phone.answer(.notMe, to: try #require(try await phone.list().first))
    let page = await visitor.get("/audit").text
    #expect(page.contains("the user reported on the phone that this was not them") && !page.contains("NOT_ME"))
    #expect(page.contains(/<time datetime="[^"]*">[0-9-]+ [0-9]{2}:[0-9]{2}:[0-9]{2}\u{a0}UTC/))
  }

  @Test func noReasonSpeaksToTheUserInTheAudit() {
    for ending in SessionLifecycle.Ending.allCases {
      let text = ReasonWord.textForOthers(of: ending.rawValue)
      #expect(text != ending.rawValue && !text.contains("you"), "\(text)")
    }
    #expect(ReasonWord.textForOthers(of: "DENIED") == "denied on the phone")
    #expect(ReasonWord.textForOthers(of: "WRONG_CODE") == "wrong digits were typed on the phone")
    #expect(ReasonWord.textForOthers(of: "walkaway=on; your=1") == "walkaway=on; your=1")
    #expect(ReasonWord.textForOthers(of: "NO_SUCH_WORD") == "NO_SUCH_WORD")
  }

  @Test func titlesAndButtonsNameThePerson() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let path = "/application/\(fixture.application.id)"
    try await fixture.addUser(Self.token)
    let list = await visitor.get(path).text
    #expect(list.contains("<em>without a name</em> <small>01234567…</small></a>"))
    let nameless = await visitor.get(path + "/user/1").text
    #expect(nameless.contains("<title>User without a name (01234567…) –"))
    #expect(nameless.contains(">Delete the user without a name (01234567…)</button>"))
    _ = await visitor.post(path + "/user/1/link", ["display_name": "Carol <b>"])
    let named = await visitor.get(path + "/user/1").text
    #expect(named.contains("<h1 id=\"title\">User Carol &lt;b&gt; (01234567…)</h1>"))
    #expect(named.contains(">Delete Carol &lt;b&gt; (01234567…)</button>"))
    #expect(await visitor.get(path).text.contains(">Carol &lt;b&gt; <small>01234567…</small></a>"))
  }
}
