extension Migration {
  /// The index by which the console has an application's users in their order, and ends when a page is full.
  static let usersInOrder = Migration(
    "users in their order",
    sql: """
      CREATE INDEX user_of_application ON user (application, id);
      """)
}
