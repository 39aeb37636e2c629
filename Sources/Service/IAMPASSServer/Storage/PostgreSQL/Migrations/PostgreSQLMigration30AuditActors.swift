extension PostgreSQLMigration {
  /// Who did it, by a further setting of the transaction. Older servers do not set it: NULL.
  ///
  /// The default is worked out once for the entries that are there, without writing them again: it is not volatile.
  static let auditActors = PostgreSQLMigration(
    name: "actors of the audit", least: 1,
    sql: """
      ALTER TABLE audit ADD COLUMN actor text DEFAULT nullif(current_setting('iampass.actor', true), '');
      """)
}
