extension Migration {
  /// The indices of what the console looks for, and what is rare: refusals among all entries of the audit, and copied
  /// computers among all.
  static let rareEntries = Migration(
    "rare entries",
    sql: """
      CREATE INDEX refused_entry ON audit (id) WHERE event = 'denied';
      CREATE INDEX copied_computer ON host_mark (credential) WHERE forked_at IS NOT NULL;
      """)
}
