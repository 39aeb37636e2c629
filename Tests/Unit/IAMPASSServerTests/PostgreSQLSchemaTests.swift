import Foundation
import GRDB
import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

@Suite struct PostgreSQLSchemaTests {
  /// The beginning of SHA-256 over each migration's SQL. A released migration never changes: databases that have it
  /// would stay as they are.
  private static let digests = [
    "tables": "936816f03fdc9967", "marks": "4ae417da86f3a31b", "audit": "9b4147663a3e320a",
    "further audit": "25094f1b9340f339", "OpenID clients": "01bb5aeb67b6a0cc",
    "notifications": "b79ae925a48f8f93", "training": "6b2e44e972025a04",
    "faces": "b4cd5a147cebe83d", "moves": "15de01a966b8827b", "shared limits": "83883af75b76bd56",
    "joining": "b81fc395ba4e018a", "user lists": "a4374d28fc637d2a", "told groups": "06e5554f95438584",
    "administrators": "44848acc52c8fbdd",
    "uses of codes": "95f53b72617cf8b9",
    "second phones": "6e10e6cbf2a0a414", "locums": "a44c78efcc5dffa6",
    "names of sign-ins": "9507c7304b0a8406", "computers' marks": "62d670d10b9e13b7",
    "join asks": "bf4eca0a02f8df39", "computers' reports": "e124ebcbe57b63b8",
    "offline sessions": "4e90d788ef7cad62",
    "named locums": "ee89a2411bc1abf0", "signed lists": "752f1382854097ba",
    "indices of sessions": "5015c9503777bdec",
    "lifted blocks": "84495a697cecbba2", "told names": "9b0f055ffd56bc5a", "history's place": "653455a1154a983a",
    "actors of the audit": "165d9c645d91ed17",
    "change channel": "c94165cb01410d65",
    "housekeeper": "21bc15aa4632b1f9",
    "user groups": "1c1a939229af696c",
    "indices of old credentials": "02c83f307c9f7556",
    "synced passkeys": "5c984cb85eccf2de",
    "news of phones": "31b4eab025ec6b6f",
    "list counts": "d1bd5818d2cd585f",
    "mark stamps": "3e4a86bc09d3ec07",
    "join pages": "726f763781407afe",
    "computers' names": "884e3d7289daa253",
    "sign-in counts": "fe6fd00909c87806",
    "console networks": "3ed56adbd98bb7bf",
    "entries of signing": "a0b172feb96a3b75",
    "allowed locums": "376925f1ba1267ab",
    "silent computers": "910f0897ec9f8d3e",
    "reasons of orders": "c035f83cbfcb6072",
    "kept counts": "60e9eead1859b4ef",
    "users in their order": "783e62aa01bc700c",
    "rare entries": "027fb8813bef52a1",
    "counted once": "af388e45ced5f630",
    "kept plans": "5b8e9d525c0faac2",
    "indices of old counters": "02799332ae09ee1d",
    "computers by name": "9a6e9b2d4b9ae759",
    "sealed clients": "46e875e02263997c",
    "signed members": "a8584fc3b6f24f56",
  ]

  @Test func theTextOfReleasedMigrationsIsWhatItWas() {
    #expect(Set(PostgreSQLSchema.migrations.map(\.name)) == Set(Self.digests.keys))
    for migration in PostgreSQLSchema.migrations {
      let digest = String(Digest.hexadecimal(Digest.sha256(Array("\(migration.sql)".utf8))).prefix(16))
      #expect(Self.digests[migration.name] == digest, "\(migration.name): \(digest)")
    }
  }

  /// Both engines store the same: what one forgets, the other one would lose when a database is moved.
  @Test func theTablesAreSQLitesTables() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try connection(room.folder)
    let rows = try connection.run([
      PostgreSQLCall(
        """
        SELECT table_name::text AS name, column_name::text AS of FROM information_schema.columns
        WHERE table_schema = current_schema()
          AND table_name NOT IN ('write_turn', 'committed_write', 'schema_migration', 'failure_count', 'poll_pace',
            'history_place', 'housekeeper')
        """)
    ])[0]
    let found = Set(try rows.map { try "\($0.get("name") as String).\($0.get("of") as String)" })
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let columns = try await database.read { db in
      try String.fetchSet(
        db,
        sql: """
          SELECT IIF(t.name = 'user', 'app_user', t.name) || '.' || IIF(c.name = 'user', 'user_id', c.name)
          FROM sqlite_master t JOIN pragma_table_info(t.name) c
          WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'grdb_migrations'
          """)
    }
    #expect(columns.subtracting(found).isEmpty)
    // SQLite has the rowid in its place.
    #expect(found.subtracting(columns).filter { !$0.hasSuffix(".number") }.isEmpty)
  }

  @Test func everySettingIsAudited() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try connection(room.folder)
    let columns: [String] = try connection.run([
      PostgreSQLCall(
        """
        SELECT column_name::text AS name FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = 'application'
          AND column_name NOT IN ('id', 'name', 'secret', 'created_at')
        """)
    ])[0].map { try $0.get("name") }
    let trigger: String = try #require(
      try connection.run([
        PostgreSQLCall(
          """
          SELECT string_agg(pg_get_triggerdef(oid), ' ') AS told FROM pg_trigger
          WHERE tgname LIKE 'audit_settings%' AND tgrelid = 'application'::regclass
          """)
      ])[0].first
    ).get("told")
    #expect(columns.contains("walkaway"))
    for column in columns { #expect(trigger.contains("new.\(column)"), "\(column) is not audited") }
  }

  @Test func manyServersThatStartAtOnceMakeTheTablesOnce() async throws {
    let folder = "/room-" + (try #require(Digest.randomIdentifier()))
    let url = try StorageEngine.url(of: folder)
    let opened = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 { group.addTask { (try? PostgreSQLStorage(url: url)) != nil } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(opened == 4)
  }

  /// A program without the service's bounds has changed sessions and not ended its transaction, for longer than a service
  /// waits for a lock. Whoever signs in at another server meanwhile must not wait behind the migration.
  @Test func aMigrationThatMustWaitLetsOthersPass() async throws {
    let room = try await StorageFixture(.postgresql)
    _ = try await room.phone()
    let connection = try connection(room.folder)
    try connection.run(
      script: """
        DROP INDEX overdue_session, live_session_of_application, live_session_by_approval, heard_phone, code_use_age,
          link_age, source_block_age;
        DELETE FROM schema_migration WHERE name = 'indices of sessions';
        """)
    _ = try connection.ask([
      PostgreSQLCall("BEGIN"), PostgreSQLCall("SET LOCAL idle_in_transaction_session_timeout = 0"),
      PostgreSQLCall("LOCK TABLE session IN ROW EXCLUSIVE MODE"),
    ])
    async let opened = inAThread { try room.opened() }
    do {
      for host in 1...4 {
        try await Task.sleep(for: .seconds(1))
        _ = try await room.started(room.ask(host: "web-\(host)"))
      }
    } catch {
      // Otherwise the migration would wait on, and this test for it.
      connection.rollBack()
      throw error
    }
    try connection.commit()
    room.clock.advance(seconds: SessionLifecycle.answerTime)
    let server = try await opened
    #expect(try await server.endOverdue(at: room.now, after: nil, limit: 10).ended.count == 4)
  }

  @Test func tablesOfANewerVersionAreLeftAlone() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try connection(room.folder)
    // A change that only adds does not stop an older version: both may run on one database.
    try connection.run([PostgreSQLCall("INSERT INTO schema_migration (name, least) VALUES ('later', 1)")])
    _ = try room.opened()
    try connection.run([PostgreSQLCall("UPDATE schema_migration SET least = 99 WHERE name = 'later'")])
    let error = #expect(throws: StorageError.self) { try room.opened() }
    #expect(error?.code == .databaseTooNew)
  }

  /// It would refuse one name or message after the other, with the service at work.
  @Test func aDatabaseThatDoesNotHoldEveryCharacterIsRefused() throws {
    try LocalPostgreSQL.connection().run(
      script: "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    let url = try LocalPostgreSQL.url().replacing("/postgres?", with: "/latin?")
    for opening in [{ try PostgreSQLStorage(url: url) }, { try PostgreSQLStorage(existing: url) }] {
      let error = #expect(throws: StorageError.self) { try opening() }
      #expect(error?.code == .databaseEncoding)
      #expect(error?.detail == "LATIN1")
    }
    let tables = try PostgreSQLConnection(to: PostgreSQLAddress(validating: url)).run([
      PostgreSQLCall("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    ])[0]
    #expect(try tables.first?.integer(0) == 0)
  }

  @Test(arguments: [
    ("postgresql://u:geheim@localhost/x", StorageError.Code.passwordInAddress),
    ("iampass.sqlite", .addressInvalid), ("postgresql:///x?host=/nonexistent", .databaseNotReached),
  ])
  func anAddressThatCannotBeUsedIsRefused(_ url: String, _ code: StorageError.Code) {
    let error = #expect(throws: StorageError.self) { try PostgreSQLStorage(url: url) }
    #expect(error?.code == code)
    #expect(error.map { "\($0)".contains("geheim") } == false)
  }

  private func connection(_ folder: String) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
  }
}
