extension Migration {
  /// Who did it: see ``AuditActor``. NULL: nobody is known, as for entries of older programs.
  static let auditActors = Migration(
    "actors of the audit",
    sql: """
      ALTER TABLE audit ADD COLUMN actor TEXT;
      """)
}
