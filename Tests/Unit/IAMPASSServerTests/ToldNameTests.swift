import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The names of users that an application tells with `add_users`.
@Suite struct ToldNameTests {
  private static let token = "0123456789abcdef0123456789abcdef"

  private func name(_ text: String, of user: String = token) -> AddUsersRequest.Name { .init(user: user, text: text) }

  private func known(in room: StorageFixture) async throws -> KnownUser? {
    let user = try await room.storage.user(Self.token, of: room.application.id)?.user
    guard let user else { return nil }
    return try await room.storage.user(user.id, of: room.application.id)?.user.known
  }

  // MARK: In storage

  @Test(arguments: StorageEngine.allCases)
  func aNameStaysUntilAnotherOneIsToldOrTheUserGoes(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    func add(_ names: [AddUsersRequest.Name]) async throws -> String? {
      _ = try await room.storage.addUsers([Self.token], called: names, to: room.application.id)
      return try await known(in: room)?.name
    }
    #expect(try await add([]) == nil)
    #expect(try await add([name("alice")]) == "alice")
    #expect(try await add([]) == "alice")
    #expect(try await add([name("alice2")]) == "alice2")
    #expect(try await add([name("")]) == nil)
    #expect(try await add([name("alice")]) == "alice")
    _ = try await room.storage.deleteUsers([Self.token], of: room.application.id, at: room.now)
    #expect(try await add([]) == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aNameIsOfOneApplicationsUserAlone(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let other = try await room.storage.createApplication(named: "other", matchCodes: .off, at: room.now)
    _ = try await room.storage.addUsers([Self.token, "f" + Self.token], to: other.id)
    _ = try await room.storage.addUsers(
      [Self.token, "f" + Self.token], called: [name("alice")], to: room.application.id)
    let others = try await room.storage.application(other.id, usersAfter: 0)?.users.map(\.known.name)
    #expect(others == [nil, nil])
    let own = try await room.storage.application(room.application.id, usersAfter: 0)?.users.map(\.known.name)
    #expect(own == ["alice", nil])
  }

  @Test(arguments: StorageEngine.allCases)
  func theListsNameComesFirstAndThePhonesLast(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.phone(of: Self.token)
    #expect(try await known(in: room)?.name == "Alice")
    _ = try await room.storage.addUsers([Self.token], called: [name("asmith")], to: room.application.id)
    #expect(try await known(in: room)?.text == "asmith (01234567…)")
    let listed = KnownUser(listed: "dora", told: "d", called: "Dora", id: Self.token)
    #expect(listed.name == "dora")
  }

  @Test(arguments: StorageEngine.allCases)
  func theListAndTheAuditAreSearchedByTheName(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let other = "f" + Self.token
    _ = try await room.storage.addUsers(
      [Self.token, other], called: [name("asmith"), name("zoe", of: other)], to: room.application.id)
    for (text, found) in [("SMIT", ["asmith"]), ("zo", ["zoe"]), ("nobody", []), ("", ["asmith", "zoe"])] {
      let page = try await room.storage.application(room.application.id, usersAfter: 0, matching: text)
      #expect(page?.users.map(\.known.name) == found)
    }
    let entries = try await room.storage.auditEntries(matching: AuditFilter(user: "SMIT"), before: nil, limit: 100)
      .entries
    #expect(entries.map { "\($0.event) \($0.known?.name ?? "")" } == ["user added asmith"])
  }

  @Test(arguments: StorageEngine.allCases)
  func theLinesOfTheAuditHaveTheNameWhileTheUserIsThere(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    func line() async throws -> AuditEntry {
      let all = try await room.storage.auditEntries(after: 0, limit: 100)
      let newest = try await room.storage.newestAuditEntries(before: nil, limit: 100)
      #expect(all.map(\.jsonLine) == newest.reversed().map(\.jsonLine))
      return try #require(all.first { $0.event == "user added" })
    }
    _ = try await room.storage.addUsers([Self.token], to: room.application.id)
    #expect(try await !line().textLine.contains("user_name"))
    _ = try await room.storage.addUsers([Self.token], called: [name("a b")], to: room.application.id)
    #expect(try await line().textLine.hasSuffix(#"  user=1  user_name="a b"  by unknown"#))
    #expect(try await line().jsonLine.hasSuffix(#","user":1,"user_name":"a b","actor":null}"#))
    // A name is not kept for the 400 days of the audit.
    _ = try await room.storage.deleteUsers([Self.token], of: room.application.id, at: room.now)
    #expect(try await !line().textLine.contains("user_name"))
  }

  // MARK: In requests

  private func add(_ body: String, in fixture: Fixture) async throws -> ServiceReply {
    await fixture.respond(
      try fixture.signed("POST", "/management/add_users/\(fixture.application.id)", Array(body.utf8)))
  }

  @Test(arguments: [
    (#"{"users":["a"],"names":{"b":"Bob"}}"#, "NAME_WITHOUT_USER"),
    ("{\"users\":[\"\u{E9}\"],\"names\":{\"e\u{301}\":\"E\"}}", "NAME_WITHOUT_USER"),
    (#"{"users":["a"],"names":{"a":"\#(String(repeating: "x", count: 201))"}}"#, "BAD_DISPLAY_NAME"),
    (#"{"users":["a"],"names":{"a":"x\u202Ey"}}"#, "BAD_DISPLAY_NAME"),
    (#"{"users":["a"],"names":{"a":"x\ny"}}"#, "BAD_DISPLAY_NAME"),
    (#"{"users":["a"],"names":{"a":" x"}}"#, "BAD_DISPLAY_NAME"),
    (#"{"users":["a"],"names":{"a":"\u3000"}}"#, "BAD_DISPLAY_NAME"),
    (#"{"users":["a"],"names":{"a":7}}"#, "BAD_REQUEST"),
    (#"{"users":["a"],"names":{"a":null}}"#, "BAD_REQUEST"),
    (#"{"users":["a"],"names":["A"]}"#, "BAD_REQUEST"),
    (#"{"users":["a"],"names":{"a":"A","a":"B"}}"#, "BAD_REQUEST"),
  ])
  func aNameThatCannotBeOneAddsNobody(_ body: String, _ reason: String) async throws {
    let fixture = try await Fixture()
    let reply = try await add(body, in: fixture)
    #expect(reply.reason == reason)
    #expect(reply.status == (reason == "BAD_REQUEST" ? 400 : 200))
    #expect(try await fixture.service.storage.application(fixture.application.id, usersAfter: 0)?.users.isEmpty == true)
  }

  @Test(arguments: [
    #"{"users":["a"]}"#, #"{"users":["a"],"names":null}"#, #"{"users":["a"],"names":{}}"#,
    #"{"users":["a","a"],"names":{"a":"\#(String(repeating: "\u{E9}", count: 200))"}}"#,
  ])
  func whatThePublishedClientsSendIsAnsweredAsBefore(_ body: String) async throws {
    let fixture = try await Fixture()
    let reply = try await add(body, in: fixture)
    #expect(reply.status == 201)
    #expect(try AddUsersReply(parsing: reply.body) == AddUsersReply(created: ["a"], existing: []))
  }

  // MARK: In the console

  @Test func theConsoleShowsTheNameBesideTheTokenAsText() async throws {
    let fixture = try await Fixture()
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let path = "/application/\(fixture.application.id)"
    let body = AddUsersRequest(users: [Self.token], names: [name("Carol <b>\"'")])
    #expect(try await add(String(decoding: body.encoded(), as: UTF8.self), in: fixture).status == 201)
    let text = "Carol &lt;b&gt;&quot;&#39;"
    #expect(await visitor.get(path).text.contains(">\(text) <small>01234567…</small></a>"))
    let page = await visitor.get(path + "/user/1").text
    #expect(page.contains("<title>User \(text) (01234567…) –"))
    #expect(page.contains("<h1 id=\"title\">User \(text) (01234567…)</h1>"))
    #expect(page.contains(">Delete \(text) (01234567…)</button>"))
    #expect(await visitor.get("/audit?user=carol").text.contains("\(text) <small>01234567…</small>"))
    #expect(await visitor.get("/audit.jsonl").text.contains(#""user_name":"Carol <b>\"'""#))
    _ = await visitor.post(path + "/user/1/delete", [:])
    for page in [path, "/audit", "/audit.jsonl"] { #expect(await !visitor.get(page).text.contains("Carol")) }
  }
}
