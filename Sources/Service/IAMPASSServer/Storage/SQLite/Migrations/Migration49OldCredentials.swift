extension Migration {
  /// The indices by which revoked credentials and cut-off phones are found once they are old, and what still names a
  /// credential. The last one has an application's credentials as its page lists them.
  static let oldCredentials = Migration(
    "indices of old credentials",
    sql: """
      CREATE INDEX revoked_credential ON host_credential (revoked_at) WHERE revoked_at IS NOT NULL;
      CREATE INDEX cut_off_phone ON phone (cut_off_at) WHERE cut_off_at IS NOT NULL;
      CREATE INDEX session_of_credential ON session (credential) WHERE credential IS NOT NULL;
      CREATE INDEX joining_of_credential ON joining (credential) WHERE credential IS NOT NULL;
      CREATE INDEX credential_of_application ON host_credential (application, (revoked_at IS NOT NULL), name, created_at);
      """)
}
