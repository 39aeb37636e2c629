extension Migration {
  /// All groups that a listed user ever had: a group's computers are told of changes of these users alone, also of those
  /// who left the group or were removed.
  static let toldGroups = Migration(
    "told groups",
    sql: """
      ALTER TABLE listed_user ADD COLUMN told_groups TEXT NOT NULL DEFAULT ' ';
      UPDATE listed_user SET told_groups = groups;

      CREATE TRIGGER told_groups AFTER INSERT ON listed_user WHEN instr(NEW.told_groups, NEW.groups) = 0 BEGIN
        UPDATE listed_user SET told_groups = NEW.told_groups || NEW.groups
        WHERE application = NEW.application AND name = NEW.name;
      END;
      CREATE TRIGGER told_groups_again AFTER UPDATE OF groups ON listed_user
      WHEN instr(NEW.told_groups, NEW.groups) = 0 BEGIN
        UPDATE listed_user SET told_groups = NEW.told_groups || NEW.groups
        WHERE application = NEW.application AND name = NEW.name;
      END;
      """)
}
