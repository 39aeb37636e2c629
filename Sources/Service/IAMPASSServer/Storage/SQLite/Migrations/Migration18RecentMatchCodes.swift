extension Migration {
  /// For the codes of requests that have ended: a user's sessions are kept for a month.
  static let recentMatchCodes = Migration(
    "recent match codes",
    sql: """
      CREATE INDEX recent_match_code ON session (user, ended_at) WHERE match_code IS NOT NULL AND ended_at IS NOT NULL;
      """)
}
