extension PostgreSQLMigration {
  /// All groups that a listed user ever had: a group's computers are told of changes of these users alone, also of those
  /// who left the group or were removed. A trigger keeps them, so that servers of a version before do, too.
  static let toldGroups = PostgreSQLMigration(
    name: "told groups", least: 1,
    sql: """
      ALTER TABLE listed_user ADD COLUMN told_groups text NOT NULL DEFAULT ' ';
      UPDATE listed_user SET told_groups = groups;

      CREATE FUNCTION keep_told_groups() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF strpos(NEW.told_groups, NEW.groups) = 0 THEN
          NEW.told_groups := NEW.told_groups || NEW.groups;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER keep_told_groups BEFORE INSERT OR UPDATE ON listed_user FOR EACH ROW
        EXECUTE FUNCTION keep_told_groups();
      """)
}
