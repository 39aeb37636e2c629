extension PostgreSQLMigration {
  /// See ``Migration/silentComputers``. The trigger keeps the day also for servers of a version before.
  static let silentComputers = PostgreSQLMigration(
    name: "silent computers", least: 1,
    sql: """
      ALTER TABLE host_credential ADD COLUMN used_day bigint NOT NULL DEFAULT 0;
      UPDATE host_credential SET used_day = coalesce(last_used_at, created_at) / 86400000;

      CREATE FUNCTION keep_used_day() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.used_day = coalesce(NEW.last_used_at, NEW.created_at) / 86400000;
        RETURN NEW;
      END $$;
      CREATE TRIGGER computer_used BEFORE INSERT OR UPDATE OF last_used_at ON host_credential FOR EACH ROW
        EXECUTE FUNCTION keep_used_day();

      CREATE INDEX silent_computer ON host_credential (used_day, name, id) WHERE revoked_at IS NULL AND is_openid = 0;
      """)
}
