extension Migration {
  /// The network that a browser asked from: see ``ClientAddress/widerNetwork``.
  static let consoleNetworks = Migration(
    "console networks", sql: "ALTER TABLE console_ask ADD COLUMN network TEXT NOT NULL DEFAULT '';")
}
