extension Migration {
  /// The indices by which a computer's name is found among the names and hosts of usable credentials, whatever its case. They
  /// are in the words of `HostCredentialRows.swift`: SQLite uses them only if they are the same.
  static let computersNames = Migration(
    "computers' names",
    sql: """
      CREATE INDEX usable_name_in_any_case ON host_credential (application, lower(name COLLATE BINARY))
      WHERE revoked_at IS NULL;
      CREATE INDEX usable_host_in_any_case ON host_credential (application, lower(host COLLATE BINARY))
      WHERE revoked_at IS NULL;
      """)
}
