extension Migration {
  /// The time stamp of the request that brought a computer's mark. An earlier one that arrives after it does
  /// not show a copy.
  static let markStamps = Migration("mark stamps", sql: "ALTER TABLE host_mark ADD COLUMN brought_at INTEGER;")
}
