extension Migration {
  static let phonePages = Migration(
    "phone pages",
    sql: """
      ALTER TABLE phone ADD COLUMN has_page INTEGER NOT NULL DEFAULT 0;
      """)
}
