extension Migration {
  /// A copy has a row without a time. The row gets its time when a service begins to work with the copy.
  static let restoredCopies = Migration(
    "restored copies",
    sql: """
      CREATE TABLE restored_copy (nonces_spent_until INTEGER) STRICT;
      """)
}
