extension Migration {
  /// The index by which it is found how often a user was helped lately: an entry of the audit for each locum.
  static let allowedLocums = Migration(
    "allowed locums",
    sql: """
      CREATE INDEX locum_allowed ON audit (user, noted_at) WHERE event = 'locum allowed';
      """)
}
