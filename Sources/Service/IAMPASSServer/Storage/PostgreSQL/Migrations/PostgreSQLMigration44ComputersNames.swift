extension PostgreSQLMigration {
  /// The indices of computers' names and hosts in any case: see ``Migration/computersNames``. An older version keeps them up
  /// to date without knowing of them.
  static let computersNames = PostgreSQLMigration(
    name: "computers' names", least: 1,
    sql: """
      CREATE INDEX usable_name_in_any_case ON host_credential (application, lower(name COLLATE "C"))
      WHERE revoked_at IS NULL;
      CREATE INDEX usable_host_in_any_case ON host_credential (application, lower(host COLLATE "C"))
      WHERE revoked_at IS NULL;
      """)
}
