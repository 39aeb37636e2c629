extension Migration {
  /// Ids of deleted users are not given again: the audit names them.
  static let userIDs = Migration(
    "users' ids used once",
    sql: """
      CREATE TABLE greatest_user (id INTEGER NOT NULL) STRICT;
      INSERT INTO greatest_user
      SELECT max(coalesce((SELECT max(id) FROM user), 0), coalesce((SELECT max(user) FROM audit), 0));
      CREATE TRIGGER greatest_user_kept AFTER INSERT ON user BEGIN
        UPDATE greatest_user SET id = max(id, NEW.id);
      END;
      """)
}
