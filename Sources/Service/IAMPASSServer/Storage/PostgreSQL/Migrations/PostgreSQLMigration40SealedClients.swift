extension PostgreSQLMigration {
  /// Whether the secrets of applications and computers are sealed: see ``Migration/sealedClients``.
  ///
  /// A server of an earlier version would take a sealed secret for one in clear, which anyone who reads the database
  /// could sign with. So it is refused as long as one may be sealed: the trigger raises `least` to this migration's place.
  static let sealedClients = PostgreSQLMigration(
    name: "sealed clients", least: 1,
    sql: """
      ALTER TABLE push_key ADD COLUMN client_seal text;

      CREATE FUNCTION refuse_earlier_servers() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE schema_migration SET least = CASE WHEN NEW.client_seal IS NULL THEN 1 ELSE 37 END
          WHERE name = 'sealed clients';
        RETURN NULL;
      END $$;
      CREATE TRIGGER client_seal_changed AFTER UPDATE OF client_seal ON push_key FOR EACH ROW
        EXECUTE FUNCTION refuse_earlier_servers();
      """)
}
