extension PostgreSQLMigration {
  /// Programs that speak OpenID Connect. A version before this one takes such a program for a host, and then refuses its
  /// signatures: the digest of its secret is longer than a host's secret may be.
  static let openIDClients = PostgreSQLMigration(
    name: "OpenID clients", least: 1,
    sql: """
      ALTER TABLE host_credential ADD COLUMN is_openid bigint NOT NULL DEFAULT 0;
      """)
}
