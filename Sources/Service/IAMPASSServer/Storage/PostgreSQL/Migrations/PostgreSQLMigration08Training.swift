extension PostgreSQLMigration {
  /// Methods that computers asked for and a phone lacks.
  static let training = PostgreSQLMigration(
    name: "training", least: 1,
    sql: """
      CREATE TABLE training (
        phone text NOT NULL REFERENCES phone ON DELETE CASCADE,
        method text NOT NULL,
        asked_at bigint NOT NULL,
        PRIMARY KEY (phone, method)
      );
      """)
}
