extension PostgreSQLMigration {
  /// What computers say of themselves, and the index by which the console finds what was held back of each.
  static let hostReports = PostgreSQLMigration(
    name: "computers' reports", least: 1,
    sql: """
      CREATE TABLE host_report (
        credential text PRIMARY KEY REFERENCES host_credential ON DELETE CASCADE,
        software text NOT NULL,
        list_version bigint NOT NULL
      );

      CREATE INDEX held_back_session ON session (credential, started_at) WHERE held_back > 0;
      """)
}
