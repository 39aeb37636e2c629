extension Migration {
  /// The day of service time on which a computer's credential was last used, or made, and the index by which silent computers
  /// are found. Triggers keep it. It changes once a day: an index of the time itself would be written each minute for each
  /// computer.
  static let silentComputers = Migration(
    "silent computers",
    sql: """
      ALTER TABLE host_credential ADD COLUMN used_day INTEGER NOT NULL DEFAULT 0;
      UPDATE host_credential SET used_day = coalesce(last_used_at, created_at) / 86400000;

      CREATE TRIGGER computer_made AFTER INSERT ON host_credential BEGIN
        UPDATE host_credential SET used_day = coalesce(NEW.last_used_at, NEW.created_at) / 86400000 WHERE id = NEW.id;
      END;
      CREATE TRIGGER computer_used AFTER UPDATE OF last_used_at ON host_credential
      WHEN coalesce(NEW.last_used_at, NEW.created_at) / 86400000 <> NEW.used_day BEGIN
        UPDATE host_credential SET used_day = coalesce(NEW.last_used_at, NEW.created_at) / 86400000 WHERE id = NEW.id;
      END;

      CREATE INDEX silent_computer ON host_credential (used_day, name, id) WHERE revoked_at IS NULL AND is_openid = 0;
      """)
}
