import GRDB
import IAMPASSProtocol
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// Revoked credentials and cut-off phones are forgotten once nothing needs them.
@Suite struct OldCredentialTests {
  private static let day: Int64 = 86_400

  @Test(arguments: StorageEngine.allCases)
  func aRevokedCredentialIsForgottenWithTheAnswersOfItsTime(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let (old, usable) = (try await room.credential("old"), try await room.credential("usable"))
    _ = try await room.storage.revokeCredential(old.id, of: room.application.id, at: room.now)
    room.clock.advance(seconds: 400 * Self.day - 1)
    try await room.forget()
    #expect(try await room.credentials() == ["usable", "old"])
    room.clock.advance(seconds: 2)
    try await room.forget()
    #expect(try await room.credentials() == ["usable"])
    #expect(try await room.storage.hostCredential(old.id, of: room.application.id) == nil)
    #expect(try await room.storage.hostCredential(usable.id, of: room.application.id) != nil)
    // The name was free from the start, and the audit has it.
    _ = try await room.credential("old")
    #expect(try await room.credentials() == ["old", "usable"])
  }

  @Test(arguments: StorageEngine.allCases)
  func aShorterTimeForAnswersForgetsThemEarlier(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let old = try await room.credential("old")
    _ = try await room.storage.revokeCredential(old.id, of: room.application.id, at: room.now)
    room.clock.advance(seconds: 63 * Self.day)
    try await room.forget(keeping: KeptTimes(answers: 64, audit: 7))
    #expect(try await room.credentials() == ["old"])
    try await room.forget(keeping: KeptTimes(answers: 62, audit: 3_650))
    #expect(try await room.credentials() == [])
  }

  /// Without it, the session would be the application's own: whoever has the application's secret could end it.
  @Test(arguments: StorageEngine.allCases)
  func aCredentialStaysWhileASessionNamesIt(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let old = try await room.credential("old")
    _ = try await room.phone()
    let session = try await room.started(room.ask(by: old))
    _ = try await room.storage.revokeCredential(old.id, of: room.application.id, at: room.now)
    room.clock.advance(seconds: 500 * Self.day)
    #expect(try await !room.forget(.revokedCredentials))
    #expect(try await room.storage.session(session.id)?.credential == old.id)
    #expect(try await room.credentials() == ["old"])
    _ = try await room.forget(.endedSessions)
    _ = try await room.forget(.revokedCredentials)
    #expect(try await room.credentials() == [])
  }

  @Test(arguments: StorageEngine.allCases)
  func manyThatAreOldGoInPortions(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await room.addRevoked(Forgettable.portion + 3)
    room.clock.advance(seconds: 401 * Self.day)
    #expect(try await room.forget(.revokedCredentials))
    #expect(try await room.credentials().count == 3)
    #expect(try await !room.forget(.revokedCredentials))
    #expect(try await room.credentials() == [])
  }

  @Test(arguments: StorageEngine.allCases)
  func aCutOffPhoneIsForgottenOnceTheUserHasALaterOne(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let first = try await room.phone()
    let link = try await room.makeLink(loss: .keepsSessions)
    #expect(link.stored?.cutOff == [first.id])
    room.clock.advance(seconds: 401 * Self.day)
    // The only one that the user had: its name is the user's in lists.
    _ = try await room.forget(.cutOffPhones)
    #expect(try await room.storage.phone(first.id)?.isCutOff == true)
    let second = try await room.phone()
    _ = try await room.forget(.cutOffPhones)
    #expect(try await room.storage.phone(first.id) == nil)
    #expect(try await room.storage.phone(second.id)?.isCutOff == false)
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneThatWasCutOffOfLateIsStillToldSo(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let first = try await room.phone()
    room.clock.advance(seconds: 500 * Self.day)
    _ = try await room.makeLink(loss: .keepsSessions)
    let second = try await room.phone()
    room.clock.advance(seconds: 400 * Self.day - 1)
    _ = try await room.forget(.cutOffPhones)
    #expect(try await room.storage.phone(first.id)?.isCutOff == true)
    room.clock.advance(seconds: 2)
    _ = try await room.forget(.cutOffPhones)
    #expect(try await room.storage.phone(first.id) == nil)
    #expect(try await room.storage.phone(second.id) != nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func phonesOfDeletedUsersGo(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    _ = try await room.storage.deleteUsers(["alice"], of: room.application.id, at: room.now)
    #expect(try await room.storage.phone(phone.id)?.isCutOff == true)
    room.clock.advance(seconds: 401 * Self.day)
    _ = try await room.forget(.cutOffPhones)
    #expect(try await room.storage.phone(phone.id) == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func thePageOfAnApplicationReadsAPageOfItsCredentials(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    try await room.addRevoked(60)
    for name in ["b", "a"] { _ = try await room.credential(name) }
    func page(_ place: Int64) async throws -> ApplicationOverview {
      try #require(
        await room.storage.application(room.application.id, usersAfter: 0, matching: "", credentialsAt: place))
    }
    let first = try await page(0)
    #expect(first.credentials.prefix(3).map(\.name) == ["a", "b", "old 1"])
    #expect(first.credentials.count == 50)
    #expect(first.credentialsFurther == 50)
    let last = try await page(50)
    #expect(last.credentials.count == 12)
    #expect(last.credentialsFurther == nil)
    #expect(Set((first.credentials + last.credentials).map(\.id)).count == 62)
    // The number is a part of the address.
    #expect(try await page(.max).credentials.isEmpty)
    #expect(try await page(.min).credentials.first?.name == "a")
  }

  // MARK: What names a deleted row is found by an index

  /// An application is deleted once in its life, with all that is its own.
  private static let deletedOnce = "application"

  @Test func sqliteFindsWhateverNamesADeletedRowByAnIndex() async throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let (missing, count) = try await database.read { db in
      var (missing, count): ([String], Int) = ([], 0)
      for table in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'") {
        for key in try db.foreignKeys(on: table) where key.destinationTable != Self.deletedOnce {
          count += 1
          let column = try #require(key.originColumns.first)
          let found = try Row.fetchOne(
            db,
            sql: """
              SELECT 1 FROM pragma_index_list(?1) AS listed JOIN pragma_index_info(listed.name) AS part
              LEFT JOIN sqlite_master ON sqlite_master.name = listed.name
              WHERE part.seqno = 0 AND part.name = ?2
                AND (NOT listed.partial OR sqlite_master.sql LIKE '% WHERE ' || ?2 || ' IS NOT NULL')
              """, arguments: [table, column])
          if found == nil { missing.append("\(table).\(column)") }
        }
      }
      return (missing, count)
    }
    #expect(missing == [])
    #expect(count > 15)
  }

  @Test func postgreSQLFindsWhateverNamesADeletedRowByAnIndex() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try room.postgreSQLConnection()
    let rows = try connection.run([
      PostgreSQLCall(
        """
        SELECT conrelid::regclass::text || '.' || attname AS place, EXISTS (
          SELECT 1 FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1] AND (indpred IS NULL
            OR pg_get_expr(indpred, indrelid) = '(' || attname || ' IS NOT NULL)'))::int::bigint AS has_index
        FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
        WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND confrelid <> $1::text::regclass
        """, .text(Self.deletedOnce))
    ])[0]
    var missing: [String] = []
    for row in rows where try (row.get("has_index") as Int64) == 0 { missing.append(try row.get("place")) }
    #expect(missing == [])
    #expect(rows.count > 15)
  }
}

extension StorageFixture {
  fileprivate func credential(_ name: String) async throws -> HostCredential {
    try await storage.createHostCredential(named: name, host: "\(name).test", of: application.id, at: now)
  }

  /// The names in the order of the list.
  fileprivate func credentials() async throws -> [String] {
    let operators = try #require(storage as? any OperatorStore)
    return try await operators.hostCredentials(of: application.id, areOpenID: false).map(\.name)
  }

  fileprivate func forget(keeping times: KeptTimes = .usual) async throws {
    try await storage.forgetOld(at: now, wall: clock.now, keeping: times)
  }

  fileprivate func forget(_ kind: Forgettable) async throws -> Bool {
    try await storage.forgetOld(kind, at: now, wall: clock.now)
  }

  fileprivate func postgreSQLConnection() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }

  /// Credentials "old 1" and so on that are revoked now.
  fileprivate func addRevoked(_ count: Int) async throws {
    let stamp = now.milliseconds
    if let storage = storage as? SQLiteStorage {
      try await storage.write { [application] db in
        try db.execute(
          sql: """
            WITH RECURSIVE one(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM one WHERE n < ?1)
            INSERT INTO host_credential (id, application, name, host, secret, created_at, revoked_at)
            SELECT 'old ' || n, ?2, 'old ' || n, 'h', 's', ?3, ?3 FROM one
            """, arguments: [count, application.id, stamp])
      }
    } else {
      try postgreSQLConnection().run([
        PostgreSQLCall(
          """
          INSERT INTO host_credential (id, application, name, host, secret, created_at, revoked_at)
          SELECT 'old ' || n, $2, 'old ' || n, 'h', 's', $3, $3 FROM generate_series(1, $1) AS n
          """, .integer(Int64(count)), .text(application.id), .integer(stamp))
      ])
    }
  }
}
