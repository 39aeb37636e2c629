extension Migration {
  /// Whether the secrets of applications and computers are sealed: see ``ClientSeal``. NULL: they are in clear.
  static let sealedClients = Migration(
    "sealed clients",
    sql: """
      ALTER TABLE push_key ADD COLUMN client_seal TEXT;
      """)
}
