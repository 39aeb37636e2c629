extension PostgreSQLMigration {
  /// Sessions that codes opened: until when they count as open, and what their users said to them.
  static let offlineSessions = PostgreSQLMigration(
    name: "offline sessions", least: 1,
    sql: """
      ALTER TABLE code_use ADD COLUMN open_until bigint;
      ALTER TABLE code_use ADD COLUMN disowned_at bigint;

      CREATE FUNCTION audit_code_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, host, service, account, tty, remote_host, credential,
          reason)
        VALUES (NEW.disowned_at, 'sign-in disowned',
          application_of_user(NEW.user_id), NEW.user_id,
          live_phone_name(NEW.user_id), context_part(NEW.context, 'host'), context_part(NEW.context, 'service'),
          context_part(NEW.context, 'user'), context_part(NEW.context, 'tty'),
          context_part(NEW.context, 'remote_host'), (SELECT name FROM host_credential WHERE id = NEW.credential),
          'used ' || to_char(to_timestamp(NEW.used_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_code_disowned AFTER UPDATE OF disowned_at ON code_use FOR EACH ROW
      WHEN (OLD.disowned_at IS NULL AND NEW.disowned_at IS NOT NULL) EXECUTE FUNCTION audit_code_disowned();
      """)
}
