extension Migration {
  /// Existing applications get match codes, too. A computer that does not show codes is not given one. Requests that are
  /// open at the upgrade have no code.
  static let matchCodes = Migration(
    "match codes",
    sql: """
      ALTER TABLE application ADD COLUMN match_code INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE session ADD COLUMN match_code TEXT;
      """)
}
