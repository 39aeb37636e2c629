extension PostgreSQLMigration {
  /// See ``Migration/rareEntries``. An older version keeps the indices up to date without knowing of them.
  static let rareEntries = PostgreSQLMigration(
    name: "rare entries", least: 1,
    sql: """
      CREATE INDEX refused_entry ON audit (id) WHERE event = 'denied';
      CREATE INDEX copied_computer ON host_mark (credential) WHERE forked_at IS NOT NULL;
      """)
}
