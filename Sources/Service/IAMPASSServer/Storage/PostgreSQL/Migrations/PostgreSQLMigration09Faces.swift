extension PostgreSQLMigration {
  /// Apps that vouch for their user's face, where their application lets them. The audit says whose word it is.
  static let faces = PostgreSQLMigration(
    name: "faces", least: 1,
    sql: """
      ALTER TABLE application ADD COLUMN face bigint NOT NULL DEFAULT 0;

      CREATE TABLE face (
        phone text PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
        is_offered bigint NOT NULL,
        changed_at bigint NOT NULL
      );

      CREATE FUNCTION audit_settings_face() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, reason)
        VALUES (database_time(), 'settings changed', NEW.name, 'face=' || CASE WHEN NEW.face <> 0 THEN 'apps' ELSE 'off' END);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_settings_face AFTER UPDATE OF face ON application FOR EACH ROW
        WHEN (NEW.face IS DISTINCT FROM OLD.face) EXECUTE FUNCTION audit_settings_face();

      CREATE FUNCTION audit_face() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone)
        SELECT NEW.changed_at, CASE WHEN NEW.is_offered <> 0 THEN 'app vouches for faces' ELSE 'app vouches no more' END,
          application_of_user(user_id), user_id, display_name
        FROM phone WHERE id = NEW.phone;
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_face AFTER INSERT OR UPDATE ON face FOR EACH ROW EXECUTE FUNCTION audit_face();

      CREATE FUNCTION audit_face_vouched() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM audit_session('app vouched for the face', NEW.approved_at, NEW);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_face_vouched AFTER UPDATE OF approved_at ON session FOR EACH ROW
        WHEN (OLD.approved_at IS NULL AND NEW.approved_at IS NOT NULL AND NEW.method = 'facial')
        EXECUTE FUNCTION audit_face_vouched();
      """)
}
