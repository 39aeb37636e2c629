extension PostgreSQLMigration {
  /// Codes that served on computers which could not ask the phone, as those report afterwards.
  static let codeUses = PostgreSQLMigration(
    name: "uses of codes", least: 1,
    sql: """
      CREATE TABLE code_use (
        user_id bigint NOT NULL REFERENCES app_user ON DELETE CASCADE,
        use text NOT NULL,
        way text NOT NULL,
        credential text,
        context text NOT NULL,
        used_at bigint NOT NULL,
        codes_left bigint,
        reported_at bigint NOT NULL,
        PRIMARY KEY (user_id, use)
      );

      CREATE FUNCTION audit_code_use() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, host, service, account, tty, remote_host, credential,
          reason)
        VALUES (NEW.reported_at,
          CASE NEW.way WHEN 'recovery' THEN 'recovery code used' ELSE 'approved offline' END,
          application_of_user(NEW.user_id), NEW.user_id,
          live_phone_name(NEW.user_id), context_part(NEW.context, 'host'), context_part(NEW.context, 'service'),
          context_part(NEW.context, 'user'), context_part(NEW.context, 'tty'),
          context_part(NEW.context, 'remote_host'), (SELECT name FROM host_credential WHERE id = NEW.credential),
          'used ' || to_char(to_timestamp(NEW.used_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            || coalesce(', ' || NEW.codes_left || ' left', ''));
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_code_use AFTER INSERT ON code_use FOR EACH ROW EXECUTE FUNCTION audit_code_use();
      """)
}
