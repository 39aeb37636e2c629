extension Migration {
  /// The lines of each group's signed list: a computer of a small group reads no others. Triggers keep them by the lines,
  /// whose groups never change. See ``Migration/userGroups``.
  static let signedMembers = Migration(
    "signed members",
    sql: """
      CREATE TABLE signed_member (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        group_name TEXT NOT NULL,
        name TEXT NOT NULL,
        first_serial INTEGER NOT NULL,
        PRIMARY KEY (application, group_name, name, first_serial)
      ) STRICT;

      INSERT INTO signed_member (application, group_name, name, first_serial)
      SELECT signed_line.application, one.value, signed_line.name, signed_line.first_serial
      FROM signed_line JOIN json_each('[' || replace(json_quote(trim(signed_line.groups)), ' ', '","') || ']') AS one
      WHERE one.value <> '' ON CONFLICT DO NOTHING;

      CREATE TRIGGER signed_members_come AFTER INSERT ON signed_line WHEN NEW.groups <> ' ' BEGIN
        INSERT INTO signed_member (application, group_name, name, first_serial)
        SELECT NEW.application, value, NEW.name, NEW.first_serial
        FROM json_each('[' || replace(json_quote(trim(NEW.groups)), ' ', '","') || ']') WHERE value <> ''
        ON CONFLICT DO NOTHING;
      END;
      CREATE TRIGGER signed_members_go AFTER DELETE ON signed_line WHEN OLD.groups <> ' ' BEGIN
        DELETE FROM signed_member WHERE application = OLD.application AND name = OLD.name
          AND first_serial = OLD.first_serial AND group_name IN (SELECT value
            FROM json_each('[' || replace(json_quote(trim(OLD.groups)), ' ', '","') || ']'));
      END;
      """)
}
