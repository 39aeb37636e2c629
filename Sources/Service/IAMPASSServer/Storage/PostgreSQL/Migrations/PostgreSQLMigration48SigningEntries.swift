extension PostgreSQLMigration {
  /// The indices of the audit's entries of what is signed, or is to be: see ``Migration/signingEntries``. An older version keeps
  /// them up to date without knowing of them.
  static let signingEntries = PostgreSQLMigration(
    name: "entries of signing", least: 1,
    sql: """
      CREATE INDEX signing_entry ON audit (id) WHERE event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed');
      CREATE INDEX signing_entry_time ON audit (noted_at) WHERE event IN (
        'user listed', 'user deleted', 'phone registered', 'phone cut off', 'phone credential added',
        'phone credential replaced', 'administrator added', 'administrator changed', 'administrator removed',
        'administrators signed', 'user list signed');
      """)
}
