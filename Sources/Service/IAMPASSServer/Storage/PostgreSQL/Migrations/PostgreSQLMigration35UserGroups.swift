extension PostgreSQLMigration {
  /// The users of each group, and how many they are. See ``Migration/userGroups``. Triggers keep both, so that servers of
  /// a version before do, too. They exist before the tables are filled: nobody changes the list meanwhile. Computers'
  /// credentials come last, because sign-ins wait while their table is locked.
  ///
  /// Names are sorted by their bytes, as SQLite sorts them.
  static let userGroups = PostgreSQLMigration(
    name: "user groups", least: 1,
    sql: """
      CREATE TABLE user_group (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        users bigint NOT NULL,
        PRIMARY KEY (application, name)
      );

      CREATE TABLE group_member (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        group_name text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        user_id bigint NOT NULL,
        PRIMARY KEY (application, group_name, name)
      );
      CREATE INDEX group_member_user ON group_member (user_id);

      CREATE FUNCTION keep_group_members() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          DELETE FROM group_member WHERE user_id = OLD.user_id AND name = OLD.name;
        END IF;
        IF TG_OP <> 'DELETE' THEN
          INSERT INTO group_member (application, group_name, name, user_id)
          SELECT DISTINCT NEW.application, one, NEW.name, NEW.user_id
          FROM unnest(string_to_array(NEW.groups, ' ')) AS one WHERE NEW.user_id IS NOT NULL AND one <> '';
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER group_members_listed AFTER INSERT OR DELETE ON listed_user FOR EACH ROW
        EXECUTE FUNCTION keep_group_members();
      CREATE TRIGGER group_members_changed AFTER UPDATE ON listed_user FOR EACH ROW
        WHEN (NEW.name IS DISTINCT FROM OLD.name OR NEW.user_id IS DISTINCT FROM OLD.user_id
          OR NEW.groups IS DISTINCT FROM OLD.groups)
        EXECUTE FUNCTION keep_group_members();

      INSERT INTO group_member (application, group_name, name, user_id)
      SELECT DISTINCT application, one, name, user_id
      FROM listed_user, unnest(string_to_array(groups, ' ')) AS one WHERE user_id IS NOT NULL AND one <> '';
      INSERT INTO user_group (application, name, users)
      SELECT application, group_name, count(*) FROM group_member GROUP BY application, group_name;

      CREATE INDEX computer_of_group ON host_credential (application, (computer_group COLLATE "C"))
        WHERE revoked_at IS NULL;
      CREATE INDEX join_code_of_group ON join_code (application, (computer_group COLLATE "C"))
        WHERE revoked_at IS NULL;

      CREATE FUNCTION note_computer_group() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO user_group (application, name, users) VALUES (NEW.application, NEW.computer_group, 0)
        ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $$;
      CREATE TRIGGER group_of_computer AFTER INSERT ON host_credential FOR EACH ROW
        WHEN (NEW.computer_group <> '') EXECUTE FUNCTION note_computer_group();
      CREATE TRIGGER group_of_join_code AFTER INSERT ON join_code FOR EACH ROW
        WHEN (NEW.computer_group <> '') EXECUTE FUNCTION note_computer_group();

      INSERT INTO user_group (application, name, users)
      SELECT application, computer_group, 0 FROM host_credential WHERE computer_group <> ''
      UNION SELECT application, computer_group, 0 FROM join_code WHERE computer_group <> ''
      ON CONFLICT DO NOTHING;

      CREATE FUNCTION count_group_members() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO user_group (application, name, users) VALUES (NEW.application, NEW.group_name, 1)
          ON CONFLICT (application, name) DO UPDATE SET users = user_group.users + 1;
        ELSE
          UPDATE user_group SET users = users - 1 WHERE application = OLD.application AND name = OLD.group_name;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER count_group_members AFTER INSERT OR DELETE ON group_member FOR EACH ROW
        EXECUTE FUNCTION count_group_members();
      """)
}
