extension Migration {
  /// What computers say of themselves, and the index by which the console finds what was held back of each.
  static let hostReports = Migration(
    "computers' reports",
    sql: """
      CREATE TABLE host_report (
        credential TEXT PRIMARY KEY REFERENCES host_credential ON DELETE CASCADE,
        software TEXT NOT NULL,
        list_version INTEGER NOT NULL
      ) STRICT;

      CREATE INDEX held_back_session ON session (credential, started_at) WHERE held_back > 0;
      """)
}
