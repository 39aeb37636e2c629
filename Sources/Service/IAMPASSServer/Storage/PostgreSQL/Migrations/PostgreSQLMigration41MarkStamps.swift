extension PostgreSQLMigration {
  /// See ``Migration/markStamps``. A server of the version before leaves it as it is: then an earlier request may count as a
  /// copy's, as it does there.
  static let markStamps = PostgreSQLMigration(
    name: "mark stamps", least: 1, sql: "ALTER TABLE host_mark ADD COLUMN brought_at bigint;")
}
