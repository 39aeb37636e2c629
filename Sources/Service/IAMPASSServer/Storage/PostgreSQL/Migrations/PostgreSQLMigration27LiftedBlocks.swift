extension PostgreSQLMigration {
  /// Denials until this time no longer keep requests from the user's phone. See ``Migration/liftedBlocks``.
  static let liftedBlocks = PostgreSQLMigration(
    name: "lifted blocks", least: 1,
    sql: """
      ALTER TABLE app_user ADD COLUMN blocks_lifted_at bigint;

      CREATE FUNCTION audit_blocks_lifted() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, phone, account)
        VALUES (NEW.blocks_lifted_at, 'block lifted', application_name(NEW.application), NEW.id,
          live_phone_name(NEW.id),
          (SELECT name FROM listed_user WHERE application = NEW.application AND user_id = NEW.id));
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_blocks_lifted AFTER UPDATE OF blocks_lifted_at ON app_user FOR EACH ROW
        WHEN (NEW.blocks_lifted_at IS NOT NULL) EXECUTE FUNCTION audit_blocks_lifted();
      """)
}
