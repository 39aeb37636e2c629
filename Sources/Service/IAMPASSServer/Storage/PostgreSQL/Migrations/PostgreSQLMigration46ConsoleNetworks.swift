extension PostgreSQLMigration {
  /// See ``Migration/consoleNetworks``. The browsers at a server of the version before count as one network.
  static let consoleNetworks = PostgreSQLMigration(
    name: "console networks", least: 1,
    sql: "ALTER TABLE console_ask ADD COLUMN network text NOT NULL DEFAULT '';")
}
