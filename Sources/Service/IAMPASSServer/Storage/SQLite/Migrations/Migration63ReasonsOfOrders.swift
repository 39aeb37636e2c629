extension Migration {
  /// Why the service failed to have a document signed: see ``StoredOrder/reason``.
  static let reasonsOfOrders = Migration(
    "reasons of orders",
    sql: """
      ALTER TABLE document_order ADD COLUMN reason TEXT;
      """)
}
