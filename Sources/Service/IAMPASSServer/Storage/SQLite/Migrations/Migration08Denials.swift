extension Migration {
  static let denials = Migration(
    "denials",
    sql: """
      CREATE INDEX denied_session ON session (user, ended_at) WHERE ending IN ('DENIED', 'NOT_ME');
      """)
}
