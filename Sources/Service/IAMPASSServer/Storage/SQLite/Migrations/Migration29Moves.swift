extension Migration {
  /// A move of the database to another engine that is going on here, or that took everything away.
  static let moves = Migration(
    "moves",
    sql: """
      CREATE TABLE database_move (
        id TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        place TEXT NOT NULL
      ) STRICT;
      """)
}
