extension PostgreSQLMigration {
  /// Which requests on administrators' phones are about which computer that waits to join.
  static let joinAsks = PostgreSQLMigration(
    name: "join asks", least: 1,
    sql: """
      CREATE TABLE join_ask (
        session text PRIMARY KEY,
        joining text NOT NULL REFERENCES joining ON DELETE CASCADE
      );
      CREATE INDEX join_ask_joining ON join_ask (joining);
      """)
}
