extension Migration {
  /// How many users a list has, kept by triggers, and indexes for what changed of a signed list: a computer that asks for
  /// changes reads no more than it is told.
  static let listCounts = Migration(
    "list counts",
    sql: """
      ALTER TABLE user_list ADD COLUMN users INTEGER NOT NULL DEFAULT 0;
      UPDATE user_list SET users = (SELECT count(*) FROM listed_user
        WHERE listed_user.application = user_list.application AND listed_user.user IS NOT NULL);

      CREATE TRIGGER list_grows AFTER INSERT ON listed_user WHEN NEW.user IS NOT NULL BEGIN
        UPDATE user_list SET users = users + 1 WHERE application = NEW.application;
      END;
      CREATE TRIGGER list_changes AFTER UPDATE OF user ON listed_user
      WHEN (NEW.user IS NULL) <> (OLD.user IS NULL) BEGIN
        UPDATE user_list SET users = users + iif(NEW.user IS NULL, -1, 1) WHERE application = NEW.application;
      END;
      CREATE TRIGGER list_shrinks AFTER DELETE ON listed_user WHEN OLD.user IS NOT NULL BEGIN
        UPDATE user_list SET users = users - 1 WHERE application = OLD.application;
      END;

      CREATE INDEX signed_line_first ON signed_line (application, first_serial);
      CREATE INDEX signed_line_last ON signed_line (application, last_serial);
      """)
}
