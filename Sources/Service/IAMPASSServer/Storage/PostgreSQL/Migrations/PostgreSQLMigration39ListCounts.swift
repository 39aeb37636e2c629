extension PostgreSQLMigration {
  /// How many users a list has, and indexes for a computer's pages of it. See ``Migration/listCounts``. Triggers keep the
  /// count, so that servers of a version before do, too. They exist before the users are counted.
  static let listCounts = PostgreSQLMigration(
    name: "list counts", least: 1,
    sql: """
      ALTER TABLE user_list ADD COLUMN users bigint NOT NULL DEFAULT 0;

      CREATE FUNCTION count_listed_users() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        change bigint := 0;
        list text;
      BEGIN
        IF TG_OP <> 'DELETE' THEN
          list := NEW.application;
          IF NEW.user_id IS NOT NULL THEN change := change + 1; END IF;
        END IF;
        IF TG_OP <> 'INSERT' THEN
          list := OLD.application;
          IF OLD.user_id IS NOT NULL THEN change := change - 1; END IF;
        END IF;
        IF change <> 0 THEN UPDATE user_list SET users = users + change WHERE application = list; END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER count_listed AFTER INSERT OR DELETE ON listed_user FOR EACH ROW
        EXECUTE FUNCTION count_listed_users();
      CREATE TRIGGER count_listed_again AFTER UPDATE OF user_id ON listed_user FOR EACH ROW
        WHEN ((NEW.user_id IS NULL) <> (OLD.user_id IS NULL)) EXECUTE FUNCTION count_listed_users();

      UPDATE user_list SET users = (SELECT count(*) FROM listed_user
        WHERE listed_user.application = user_list.application AND listed_user.user_id IS NOT NULL);

      CREATE INDEX listed_user_by_name ON listed_user (application, (name COLLATE "C"));
      CREATE INDEX signed_line_first ON signed_line (application, first_serial);
      CREATE INDEX signed_line_last ON signed_line (application, last_serial);
      """)
}
