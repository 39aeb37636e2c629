extension Migration {
  static let heldBackRequests = Migration(
    "held back requests",
    sql: """
      ALTER TABLE session ADD COLUMN held_back INTEGER NOT NULL DEFAULT 0;
      """)
}
