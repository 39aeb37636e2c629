extension Migration {
  /// The index by which the console's page of computers has them in their order, and ends when it is full.
  static let computersByName = Migration(
    "computers by name",
    sql: """
      CREATE INDEX computer_by_name ON host_credential (name, id) WHERE revoked_at IS NULL AND is_openid = 0;
      """)
}
