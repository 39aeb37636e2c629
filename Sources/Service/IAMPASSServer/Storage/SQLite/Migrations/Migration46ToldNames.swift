extension Migration {
  /// What people call a user, as the application told it; NULL: it told nothing. It identifies nobody.
  static let toldNames = Migration(
    "told names",
    sql: """
      ALTER TABLE user ADD COLUMN told_name TEXT;
      """)
}
