extension Migration {
  /// The users of each group, and how many they are: a page of groups reads no more than it shows. Triggers keep both by
  /// the list of users. A group that only a computer or a join code names has a row without users.
  ///
  /// A name of a group has no spaces, and the list has them between spaces: as JSON they are the strings of an array.
  static let userGroups = Migration(
    "user groups",
    sql: """
      CREATE TABLE user_group (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        name TEXT NOT NULL,
        users INTEGER NOT NULL,
        PRIMARY KEY (application, name)
      ) STRICT;

      CREATE TABLE group_member (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        group_name TEXT NOT NULL,
        name TEXT NOT NULL,
        user INTEGER NOT NULL,
        PRIMARY KEY (application, group_name, name)
      ) STRICT;
      CREATE INDEX group_member_user ON group_member (user);
      CREATE INDEX computer_of_group ON host_credential (application, computer_group) WHERE revoked_at IS NULL;
      CREATE INDEX join_code_of_group ON join_code (application, computer_group) WHERE revoked_at IS NULL;

      INSERT INTO group_member (application, group_name, name, user)
      SELECT DISTINCT listed_user.application, one.value, listed_user.name, listed_user.user
      FROM listed_user JOIN json_each('[' || replace(json_quote(trim(listed_user.groups)), ' ', '","') || ']') AS one
      WHERE listed_user.user IS NOT NULL AND one.value <> '';
      INSERT INTO user_group (application, name, users)
      SELECT application, group_name, count(*) FROM group_member GROUP BY application, group_name;
      INSERT INTO user_group (application, name, users)
      SELECT application, computer_group, 0 FROM host_credential WHERE computer_group <> ''
      UNION SELECT application, computer_group, 0 FROM join_code WHERE computer_group <> ''
      ON CONFLICT DO NOTHING;

      CREATE TRIGGER group_members_listed AFTER INSERT ON listed_user WHEN NEW.user IS NOT NULL BEGIN
        INSERT INTO group_member (application, group_name, name, user)
        SELECT DISTINCT NEW.application, value, NEW.name, NEW.user
        FROM json_each('[' || replace(json_quote(trim(NEW.groups)), ' ', '","') || ']') WHERE value <> '';
      END;
      CREATE TRIGGER group_members_changed AFTER UPDATE OF name, user, groups ON listed_user
      WHEN NEW.name IS NOT OLD.name OR NEW.user IS NOT OLD.user OR NEW.groups IS NOT OLD.groups BEGIN
        DELETE FROM group_member WHERE user = OLD.user AND name = OLD.name;
        INSERT INTO group_member (application, group_name, name, user)
        SELECT DISTINCT NEW.application, value, NEW.name, NEW.user
        FROM json_each('[' || replace(json_quote(trim(NEW.groups)), ' ', '","') || ']')
        WHERE NEW.user IS NOT NULL AND value <> '';
      END;
      CREATE TRIGGER group_members_unlisted AFTER DELETE ON listed_user BEGIN
        DELETE FROM group_member WHERE user = OLD.user AND name = OLD.name;
      END;

      CREATE TRIGGER group_grows AFTER INSERT ON group_member BEGIN
        INSERT INTO user_group (application, name, users) VALUES (NEW.application, NEW.group_name, 1)
        ON CONFLICT (application, name) DO UPDATE SET users = users + 1;
      END;
      CREATE TRIGGER group_shrinks AFTER DELETE ON group_member BEGIN
        UPDATE user_group SET users = users - 1 WHERE application = OLD.application AND name = OLD.group_name;
      END;

      CREATE TRIGGER group_of_computer AFTER INSERT ON host_credential WHEN NEW.computer_group <> '' BEGIN
        INSERT INTO user_group (application, name, users) VALUES (NEW.application, NEW.computer_group, 0)
        ON CONFLICT DO NOTHING;
      END;
      CREATE TRIGGER group_of_join_code AFTER INSERT ON join_code WHEN NEW.computer_group <> '' BEGIN
        INSERT INTO user_group (application, name, users) VALUES (NEW.application, NEW.computer_group, 0)
        ON CONFLICT DO NOTHING;
      END;
      """)
}
