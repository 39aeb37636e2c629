import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// Codes and computers that asked by them come in pages, and are forgotten once they are old.
@Suite struct JoinPageTests {
  private static let day: Int64 = 86_400

  @Test(arguments: StorageEngine.allCases)
  func codesComeInPagesTheNewestFirst(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    var made: [String] = []
    for number in 0..<JoinCodePage.length + 2 {
      made.insert(try await room.makeCode("code \(number)").id, at: 0)
      // Two of one moment are on two pages, too.
      if number != 1 { room.clock.advance(seconds: 1) }
    }
    let first = try await room.storage.joinCodes(after: "")
    #expect(first.codes.count == JoinCodePage.length)
    #expect(first.further == first.codes.last?.code.id)
    let second = try await room.storage.joinCodes(after: try #require(first.further))
    #expect(second.codes.count == 2 && second.further == nil)
    let all = (first.codes + second.codes).map(\.code.id)
    #expect(all.dropLast(3) == made.dropLast(3))
    #expect(Set(all) == Set(made))
    #expect(try await room.storage.joinCodes(after: "unknown").codes.map(\.code.id) == first.codes.map(\.code.id))
  }

  @Test(arguments: StorageEngine.allCases)
  func whoAskedByACodeComesInPages(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await room.makeCode("code", uses: 100)
    let other = try await room.makeCode("other", uses: 100)
    let names = Set((0..<JoiningPage.length + 2).map { "desk-\($0)" })
    for name in names.sorted() { #expect(try await room.asks(name, by: "code")) }
    #expect(try await room.asks("elsewhere", by: "other"))
    let first = try #require(try await room.storage.joinCode(code.id, after: ""))
    #expect((first.code.used, first.application) == (Int64(names.count), "shop"))
    #expect(first.page.computers.count == JoiningPage.length)
    let place = try #require(first.page.further)
    let second = try #require(try await room.storage.joinCode(code.id, after: place))
    #expect(second.page.computers.count == 2 && second.page.further == nil)
    #expect(Set((first.page.computers + second.page.computers).map(\.joining.name)) == names)
    #expect(try await room.storage.joinCode(other.id, after: "")?.page.computers.map(\.joining.name) == ["elsewhere"])
    #expect(try await room.storage.joinCode("unknown", after: "") == nil)
    let listed = try await room.storage.joinCodes(after: "").codes
    let one = try #require(listed.first { $0.code.id == code.id })
    #expect(one.joined.count == JoinCodePage.shownNames + 1 && names.isSuperset(of: one.joined))
    #expect(!one.isOver)
  }

  @Test(arguments: StorageEngine.allCases) func whoWaitsComesInPages(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    _ = try await room.makeCode("code", uses: 100, isUnattended: false)
    _ = try await room.makeCode("open", uses: 100)
    let names = (0..<JoiningPage.length + 2).map { "desk-\($0)" }
    for name in names {
      #expect(try await room.asks(name, by: "code"))
      room.clock.advance(seconds: 1)
    }
    #expect(try await room.asks("joined", by: "open"))
    let first = try await room.storage.waitingJoins(after: "")
    #expect(first.computers.map(\.joining.name) == Array(names.prefix(JoiningPage.length)))
    #expect(first.computers.allSatisfy { $0.application == "shop" })
    // The page's last one is decided meanwhile.
    let place = try #require(first.further)
    #expect(try await room.storage.decideJoin(place, isApproved: true, at: room.now) != .unknown)
    let second = try await room.storage.waitingJoins(after: place)
    #expect(second.computers.map(\.joining.name) == Array(names.suffix(2)))
    #expect(second.further == nil)
  }

  @Test func theConsoleLeadsToTheNextPages() async throws {
    let fixture = try await Fixture()
    let storage = fixture.service.core.storage
    var codes: [StoredJoinCode] = []
    for number in 0...JoinCodePage.length {
      codes.append(
        try await storage.createJoinCode(
          JoinOrder(
            application: fixture.application.id, secret: Secret("code \(number)"), uses: 100, days: 9,
            isUnattended: false), at: fixture.clock.now))
      fixture.clock.advance(seconds: 1)
    }
    for number in 0...JoiningPage.length {
      let request = JoinRequest(
        code: Secret("code 1"), name: "desk-\(number)", secret: Secret(Base64.encode([UInt8](repeating: 1, count: 24))))
      _ = try await storage.join(
        ReceivedJoinRequest(request: request, address: "192.0.2.7"), at: fixture.clock.now)
      fixture.clock.advance(seconds: 1)
    }
    let visitor = try await ConsoleVisitor.admitted(to: fixture)
    let last = "desk-\(JoiningPage.length)"
    let page = await visitor.get("/joins").text
    #expect(!page.contains(codes[0].id) && !page.contains(last))
    let older = try #require(page.firstMatch(of: /\/console(\/joins\?codes=[0-9a-f]+)"/)).1
    #expect(await visitor.get(String(older)).text.contains(codes[0].id))
    let waiting = try #require(page.firstMatch(of: /\/console(\/joins\?waiting=[0-9a-f]+)"/)).1
    #expect(await visitor.get(String(waiting)).text.contains(last))
    let own = await visitor.get("/joins/\(codes[1].id)").text
    #expect(own.contains("\(JoiningPage.length + 1) of 100") && !own.contains(last))
    let more = try #require(own.firstMatch(of: /\/console(\/joins\/[0-9a-f]+\?after=[0-9a-f]+)"/)).1
    #expect(await visitor.get(String(more)).text.contains(last))
  }

  @Test(arguments: StorageEngine.allCases)
  func anExpiredCodeIsForgottenWithWhoAskedByIt(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let old = try await room.makeCode("old", uses: 9, isUnattended: false)
    let young = try await room.makeCode("young", uses: 9, days: 100)
    for name in ["joins", "waits"] { #expect(try await room.asks(name, by: "old")) }
    _ = try await room.storage.decideJoin("joins", isApproved: true, at: room.now)
    #expect(try await room.asks("later", by: "young"))
    room.clock.advance(seconds: 401 * Self.day)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.storage.joinCode(old.id, after: "")?.page.computers.count == 2)
    room.clock.advance(seconds: 1)
    try await room.storage.forgetOld(at: room.now, wall: room.clock.now)
    #expect(try await room.storage.joinCode(old.id, after: "") == nil)
    #expect(try await room.storage.waitingJoins(after: "").computers.isEmpty)
    #expect(try await room.storage.joinCode(young.id, after: "")?.page.computers.count == 1)
    // Its credential stays, and nobody joins by what is forgotten.
    let credentials = try await room.storage.application(room.application.id, usersAfter: 0)?.credentials
    #expect(credentials?.map(\.name).sorted() == ["joins", "later"])
    #expect(try await !room.asks("joins", by: "old"))
  }

  @Test(arguments: StorageEngine.allCases)
  func whoAskedIsForgottenInPortionsAndTheCodeLast(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await room.makeCode("code", uses: 10_000)
    try await room.addJoined(Forgettable.portion + 1, by: code.id)
    #expect(try await room.storage.joinCode(code.id, after: "")?.code.used == Int64(Forgettable.portion + 1))
    room.clock.advance(seconds: 500 * Self.day)
    func forget() async throws -> Bool {
      try await room.storage.forgetOld(.joinings, at: room.now, wall: room.clock.now)
    }
    #expect(try await forget())
    let left = try #require(try await room.storage.joinCode(code.id, after: ""))
    #expect(left.page.computers.count == 1)
    // A computer that is forgotten has used the code all the same.
    #expect(left.code.used == Int64(Forgettable.portion + 1))
    #expect(try await !forget())
    #expect(try await room.storage.joinCode(code.id, after: "") == nil)
  }

  /// A database from before has no counts.
  @Test(arguments: StorageEngine.allCases) func whoHasAskedIsCounted(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let code = try await room.makeCode("code", uses: 2)
    _ = try await room.makeCode("unused")
    #expect(try await room.asks("a", by: "code"))
    try await room.forgetJoinPages()
    let storage = try room.opened()
    #expect(try await storage.joinCode(code.id, after: "")?.code.used == 1)
    #expect(try await room.asks("b", by: "code", on: storage))
    #expect(try await !room.asks("c", by: "code", on: storage))
    #expect(try await storage.joinCodes(after: "").codes.map(\.code.used).sorted() == [0, 2])
    #expect(try await storage.joinCodes(after: "").codes.map(\.isOver).contains(true))
  }
}

extension StorageFixture {
  fileprivate func makeCode(
    _ code: String, uses: Int = 1, days: Int = 1, isUnattended: Bool = true
  ) async throws -> StoredJoinCode {
    try await storage.createJoinCode(
      JoinOrder(application: "shop", secret: Secret(code), uses: uses, days: days, isUnattended: isUnattended), at: now)
  }

  /// Whether the code takes the computer, which then waits or has joined.
  ///
  /// - Parameter connection: nil: the room's own.
  fileprivate func asks(
    _ name: String, by code: String, on connection: (any ServiceStorage)? = nil
  ) async throws -> Bool {
    let request = JoinRequest(
      code: Secret(code), name: name, secret: Secret(Base64.encode([UInt8](repeating: 1, count: 24))))
    let received = ReceivedJoinRequest(request: request, address: "192.0.2.7")
    switch try await (connection ?? storage).join(received, at: now) {
    case .joined, .waiting: return true
    case .refused: return false
    }
  }

  fileprivate func postgreSQL() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }

  /// Adds computers that joined by the code now.
  fileprivate func addJoined(_ count: Int, by code: String) async throws {
    let stamp = now.milliseconds
    if let storage = storage as? SQLiteStorage {
      try await storage.write { db in
        try db.execute(
          sql: """
            WITH RECURSIVE one(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM one WHERE n < ?1)
            INSERT INTO joining (id, code, name, mark, secret_digest, state, address, asked_at)
            SELECT 'one ' || n, ?2, 'desk ' || n, '1', 'd', 'joined', 'a', ?3 FROM one
            """, arguments: [count, code, stamp])
      }
    } else {
      try postgreSQL().run([
        PostgreSQLCall(
          """
          INSERT INTO joining (id, code, name, mark, secret_digest, state, address, asked_at)
          SELECT 'one ' || n, $2, 'desk ' || n, '1', 'd', 'joined', 'a', $3 FROM generate_series(1, $1) AS n
          """, .integer(Int64(count)), .text(code), .integer(stamp))
      ])
    }
  }

  /// Takes the database back to where it was before codes had counts.
  fileprivate func forgetJoinPages() async throws {
    try await undo(
      "join pages",
      sqlite: """
        DROP TRIGGER join_code_used;
        ALTER TABLE join_code DROP COLUMN used;
        DROP INDEX join_code_age;
        DROP INDEX join_code_end;
        DROP INDEX joined_by_code;
        DROP INDEX joining_of_name;
        DROP INDEX waiting_joining_age;
        DROP INDEX waiting_joining_name;
        """,
      postgreSQL: """
        DROP FUNCTION count_join_code_use CASCADE;
        ALTER TABLE join_code DROP COLUMN used;
        DROP INDEX join_code_age, join_code_end, joined_by_code, joining_of_name, waiting_joining_age,
          waiting_joining_name;
        """)
  }
}
