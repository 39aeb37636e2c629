extension Migration {
  /// Which requests on administrators' phones are about which computer that waits to join.
  static let joinAsks = Migration(
    "join asks",
    sql: """
      CREATE TABLE join_ask (
        session TEXT PRIMARY KEY,
        joining TEXT NOT NULL REFERENCES joining ON DELETE CASCADE
      ) STRICT;
      CREATE INDEX join_ask_joining ON join_ask (joining);
      """)
}
