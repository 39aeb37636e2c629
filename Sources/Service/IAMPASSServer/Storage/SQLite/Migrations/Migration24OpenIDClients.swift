extension Migration {
  static let openIDClients = Migration(
    "OpenID clients",
    sql: """
      ALTER TABLE host_credential ADD COLUMN is_openid INTEGER NOT NULL DEFAULT 0;
      """)
}
