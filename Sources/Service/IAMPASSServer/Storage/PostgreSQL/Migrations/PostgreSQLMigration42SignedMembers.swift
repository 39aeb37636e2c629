extension PostgreSQLMigration {
  /// The lines of each group's signed list. See ``Migration/signedMembers``. Triggers keep them, so that servers of a
  /// version before do, too. They exist before the table is filled.
  static let signedMembers = PostgreSQLMigration(
    name: "signed members", least: 1,
    sql: """
      CREATE TABLE signed_member (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        group_name text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        first_serial bigint NOT NULL,
        PRIMARY KEY (application, group_name, name, first_serial)
      );

      CREATE FUNCTION keep_signed_members() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO signed_member (application, group_name, name, first_serial)
          SELECT NEW.application, one, NEW.name, NEW.first_serial
          FROM unnest(string_to_array(NEW.groups, ' ')) AS one WHERE one <> ''
          ON CONFLICT DO NOTHING;
        ELSE
          DELETE FROM signed_member WHERE application = OLD.application AND name = OLD.name
            AND first_serial = OLD.first_serial AND group_name = ANY (string_to_array(OLD.groups, ' '));
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER signed_members_come AFTER INSERT ON signed_line FOR EACH ROW WHEN (NEW.groups <> ' ')
        EXECUTE FUNCTION keep_signed_members();
      CREATE TRIGGER signed_members_go AFTER DELETE ON signed_line FOR EACH ROW WHEN (OLD.groups <> ' ')
        EXECUTE FUNCTION keep_signed_members();

      INSERT INTO signed_member (application, group_name, name, first_serial)
      SELECT application, one, name, first_serial
      FROM signed_line, unnest(string_to_array(groups, ' ')) AS one WHERE one <> ''
      ON CONFLICT DO NOTHING;
      """)
}
