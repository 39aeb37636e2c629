extension Migration {
  /// A wrong code denies: it is looked for with the other denials.
  static let wrongCodes = Migration(
    "wrong codes",
    sql: """
      DROP INDEX denied_session;
      CREATE INDEX denied_session ON session (user, ended_at) WHERE ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE');
      """)
}
