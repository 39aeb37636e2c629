extension PostgreSQLMigration {
  /// Where the history was written when a server looked last: see ``PostgreSQLHistory``. Older servers do not look.
  static let historyPlace = PostgreSQLMigration(
    name: "history's place", least: 1,
    sql: """
      CREATE TABLE history_place (
        id bigint PRIMARY KEY CHECK (id = 1),
        place text NOT NULL
      );
      """)
}
