import Foundation
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// An older version of the service works on the tables of this one: what can be held without its program.
///
/// This shows that the new tables take the old version's statements, and not that its program works beside a newer one.
/// Version 0.10 is not released yet: the text is from its sources of one day. An older program itself is tried by
/// `Tests/System/Server/test_rolling_upgrade.py`: the one that an earlier whole run has kept.
///
/// `released-statements.sql` has what version 0.10 asks a PostgreSQL database, a line a statement, as its sources had it.
/// That text never changes while 0.10 may run beside a newer version. If a migration has to break one of the statements, it
/// says so by its `least`, and the file goes.
@Suite struct RollingUpgradeTests {
  /// How many migrations that version knows.
  private static let released = 8

  private static func statements() throws -> [String] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
    let text = try String(contentsOfFile: folder + "/released-statements.sql", encoding: .utf8)
    return text.split(separator: "\n").map(String.init)
  }

  @Test func noMigrationSinceTheReleaseEndsIt() {
    #expect(PostgreSQLSchema.migrations.dropFirst(Self.released).allSatisfy { $0.least <= Self.released })
  }

  @Test func everyStatementOfTheReleaseIsTakenByTheNewTables() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try LocalPostgreSQL.connection(schema: room.folder.name)
    let statements = try Self.statements()
    #expect(statements.count > 100)
    #expect(Self.refusal(of: "SELECT nothing FROM session", connection) != nil)
    // LOCK takes no parameters and cannot be prepared by SQL.
    for statement in statements where !statement.hasPrefix("LOCK") {
      let refusal = Self.refusal(of: statement, connection)
      #expect(refusal == nil, "\(statement): \(refusal ?? "")")
    }
  }

  /// A row that the release inserts has no value for a newer column.
  @Test func everyColumnThatTheReleaseDoesNotKnowCanBeLeftOut() async throws {
    let room = try await StorageFixture(.postgresql)
    let connection = try LocalPostgreSQL.connection(schema: room.folder.name)
    var needed: [String: Set<String>] = [:]
    for row in try connection.run([
      PostgreSQLCall(
        """
        SELECT table_name::text AS name, column_name::text AS of FROM information_schema.columns
        WHERE table_schema = current_schema() AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'
        """)
    ])[0] {
      needed[try row.get("name"), default: []].insert(try row.get("of"))
    }
    var inserts = 0
    for statement in try Self.statements() {
      guard let found = statement.firstMatch(of: #/^INSERT INTO (\w+) \(([^)]*)\)/#) else { continue }
      inserts += 1
      let given = Set(found.2.split(separator: ", ").map(String.init))
      let missing = needed[String(found.1), default: []].subtracting(given)
      #expect(missing.isEmpty, "\(statement)")
    }
    #expect(inserts > 15)
  }

  /// Its statements are prepared, and its rows are read by name.
  @Test func aServiceGoesOnWhileANewerOneAddsColumnsAndTables() async throws {
    let room = try await StorageFixture(.postgresql)
    let phone = try await room.phone()
    let session = try await room.approved(by: phone)
    let connection = try LocalPostgreSQL.connection(schema: room.folder.name)
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.run(
      script: """
        DO $$
        DECLARE name text;
        BEGIN
          FOR name IN SELECT table_name FROM information_schema.tables
            WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name <> 'write_turn'
          LOOP
            EXECUTE format('ALTER TABLE %I ADD COLUMN later bigint NOT NULL DEFAULT 0', name);
          END LOOP;
        END $$;
        CREATE TABLE later (id bigint PRIMARY KEY);
        INSERT INTO schema_migration (name, least) VALUES ('later', 1);
        """)
    try connection.commit()
    #expect(try await room.storage.session(session.id)?.lifecycle.status == .active)
    let next = try await room.approved(by: phone, host: "web-2")
    #expect(try await room.storage.session(next.id)?.lifecycle.status == .active)
    try await room.storage.forgetOld(at: room.now, wall: room.now)
    // One that begins now, too.
    let opened = try room.opened()
    #expect(try await opened.session(session.id)?.lifecycle.status == .active)
  }

  /// Why the database does not prepare the statement; nil if it does. Types that only a value would tell do not count.
  private static func refusal(of statement: String, _ connection: PostgreSQLConnection) -> String? {
    do {
      _ = try connection.run([
        PostgreSQLCall("SELECT set_config('iampass.statement', $1, false)", .text(statement)),
        PostgreSQLCall(
          """
          DO $$ BEGIN
            EXECUTE 'PREPARE tried AS ' || current_setting('iampass.statement');
            DEALLOCATE tried;
          EXCEPTION WHEN indeterminate_datatype OR ambiguous_parameter THEN NULL;
          END $$
          """),
      ])
      return nil
    } catch { return "\(error)" }
  }
}

extension LocalPostgreSQL {
  fileprivate static func connection(schema: String) throws -> PostgreSQLConnection {
    try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: schema)))
  }
}

extension String {
  /// The last part of a path.
  fileprivate var name: String { split(separator: "/").last.map(String.init) ?? self }
}
