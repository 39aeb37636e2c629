extension Migration {
  static let looks = Migration(
    "looks at the page",
    sql: """
      ALTER TABLE phone ADD COLUMN looked_at INTEGER;
      """)
}
