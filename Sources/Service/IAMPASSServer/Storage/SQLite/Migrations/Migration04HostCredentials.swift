extension Migration {
  /// A revoked credential stays for long, because sessions name it: see ``HostCredential/prune(at:in:)``. A session keeps the secret that its
  /// replies are signed with, because its application may get a new secret while the session is live.
  static let hostCredentials = Migration(
    "host credentials",
    sql: """
      CREATE TABLE host_credential (
        id TEXT PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        name TEXT NOT NULL,
        host TEXT NOT NULL,
        secret TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        revoked_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX one_usable_credential_a_name ON host_credential (application, name) WHERE revoked_at IS NULL;

      ALTER TABLE session ADD COLUMN credential TEXT REFERENCES host_credential ON DELETE SET NULL;
      ALTER TABLE session ADD COLUMN reply_secret TEXT;
      UPDATE session SET reply_secret =
        (SELECT application.secret FROM application WHERE application.id = session.application);
      CREATE INDEX live_session_of_credential ON session (credential) WHERE ended_at IS NULL;
      """)
}
