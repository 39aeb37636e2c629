import Testing

@testable import IAMPASSServer

@Suite struct SQLiteDialectTests {
  @Test func namesAreSQLites() {
    #expect(
      SQLiteDialect.translated("SELECT one.number FROM app_user AS one WHERE one.user_id = session.user_id")
        == "SELECT one.rowid FROM user AS one WHERE one.user = session.user")
  }

  @Test func aWordIsTranslatedAsAWhole() {
    let sql = "SELECT set_number, last_number, numbers, app_users, user_ids FROM list_number"
    #expect(SQLiteDialect.translated(sql) == sql)
  }

  @Test func aTextIsLeftAsItIs() {
    let sql = "SELECT 'number of app_user $1::text' WHERE name = \"number\" OR event = 'it''s number'"
    #expect(SQLiteDialect.translated(sql) == sql)
  }

  /// SQLite numbers `$1` by its place in the statement, and `?1` by its name.
  @Test func parametersKeepTheirNumbers() {
    #expect(SQLiteDialect.translated("VALUES ($2, $10, $1)") == "VALUES (?2, ?10, ?1)")
  }

  @Test func functionsCastsAndTheOrderOfBytesAreSQLites() {
    #expect(
      SQLiteDialect.translated("strpos(greatest($1::text, name), least(a, 1)::bigint) ORDER BY name COLLATE \"C\"")
        == "instr(max(?1, name), min(a, 1)) ORDER BY name COLLATE BINARY")
  }

  @Test func theMembersOfAListAreSQLites() {
    #expect(
      SQLiteDialect.translated("id IN (SELECT value::bigint FROM json_array_elements_text($1::json))")
        == "id IN (SELECT value FROM json_each(?1))")
  }

  @Test func anIndexIsNamedToSQLiteAlone() {
    #expect(
      SQLiteDialect.translated("SELECT day / 2 FROM session /*SQLite INDEXED BY number */ WHERE user_id = $1")
        == "SELECT day / 2 FROM session INDEXED BY number  WHERE user = ?1")
    #expect(SQLiteDialect.translated("a /*SQLite b") == "a b")
  }

  @Test func aColumnIsFoundByItsNameInSQLite() {
    #expect(SQLiteDialect.column("user_id") == "user")
    #expect(SQLiteDialect.column("name") == "name")
  }
}
