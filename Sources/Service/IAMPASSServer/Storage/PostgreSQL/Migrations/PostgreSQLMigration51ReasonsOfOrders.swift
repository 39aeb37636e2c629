extension PostgreSQLMigration {
  /// See ``Migration/reasonsOfOrders``. A server of a version before gives no reason.
  static let reasonsOfOrders = PostgreSQLMigration(
    name: "reasons of orders", least: 1,
    sql: """
      ALTER TABLE document_order ADD COLUMN reason text;
      """)
}
