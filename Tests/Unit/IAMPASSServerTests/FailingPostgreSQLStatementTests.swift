import IAMPASSProtocol
import LocalPostgreSQL
import PostgreSQLLink
import Testing

@testable import IAMPASSServer

/// PostgreSQL refuses the first, the second, … change of a row: as ``FailingStatementTests``, for the other engine.
@Suite struct FailingPostgreSQLStatementTests {
  @Test(arguments: FailingStatementTests.deeds)
  func leavesEveryTableOfPostgreSQLAsItWas(_ deed: FailingStatementTests.Deed) async throws {
    let room = try await StorageFixture(.postgresql)
    let act = try await deed.prepare(room)
    let refusals = try Refusals(room.folder)
    let before = try refusals.everything()
    var refused = 0
    while true {
      try refusals.set(at: refused + 1)
      do {
        try await act()
        break
      } catch let error as PostgreSQLError {
        #expect(error.detail.contains(Refusals.message))
      }
      refused += 1
      #expect(try refusals.everything() == before)
    }
    // With fewer there would be nothing half done.
    #expect(refused >= 2)
  }
}

/// Triggers that refuse one change, made and looked at by a connection of their own.
private struct Refusals {
  static let message = "refused by the test"
  private let connection: PostgreSQLConnection

  /// Counts each change of a row, whoever makes it.
  init(_ folder: String) throws {
    connection = try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: folder)))
    _ = try connection.ask([PostgreSQLCall("BEGIN")])
    try connection.run(
      script: """
        CREATE TABLE countdown (number bigint NOT NULL);
        INSERT INTO countdown VALUES (0);
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE countdown SET number = number - 1;
          IF (SELECT number FROM countdown) = 0 THEN RAISE EXCEPTION 'refused by the test'; END IF;
          IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
          RETURN NEW;
        END $$;
        DO $$
        DECLARE name text;
        BEGIN
          FOR name IN SELECT table_name FROM information_schema.tables
            WHERE table_schema = current_schema() AND table_name NOT IN ('countdown', 'schema_migration')
          LOOP
            EXECUTE format('CREATE TRIGGER aaa_refuse BEFORE INSERT OR UPDATE OR DELETE ON %I
              FOR EACH ROW EXECUTE FUNCTION refuse()', name);
          END LOOP;
        END $$;
        CREATE FUNCTION everything() RETURNS SETOF text LANGUAGE plpgsql AS $$
        DECLARE name text;
        BEGIN
          FOR name IN SELECT table_name FROM information_schema.tables
            WHERE table_schema = current_schema() AND table_name <> 'countdown' ORDER BY table_name
          LOOP
            RETURN QUERY EXECUTE format('SELECT %L || '' '' || told::text FROM %I AS told ORDER BY 1', name, name);
          END LOOP;
        END $$;
        """)
    try connection.commit()
  }

  func set(at number: Int) throws {
    try connection.run([PostgreSQLCall("UPDATE countdown SET number = $1", .integer(Int64(number)))])
  }

  /// Every row of every table.
  func everything() throws -> [String] {
    try connection.run([PostgreSQLCall("SELECT everything() AS told")])[0].map { try $0.get("told") }
  }
}
