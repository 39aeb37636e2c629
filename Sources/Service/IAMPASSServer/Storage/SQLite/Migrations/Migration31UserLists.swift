extension Migration {
  /// Users by their Unix names, for computers that have their users from the service. Whoever was removed keeps a row
  /// without a user, so that computers are told only what changed. A user who is deleted in whatever way leaves the list
  /// in the same step.
  static let userLists = Migration(
    "user lists",
    sql: """
      ALTER TABLE host_credential ADD COLUMN computer_group TEXT NOT NULL DEFAULT '';
      ALTER TABLE join_code ADD COLUMN computer_group TEXT NOT NULL DEFAULT '';

      CREATE TABLE user_list (
        application TEXT PRIMARY KEY REFERENCES application ON DELETE CASCADE,
        version INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE listed_user (
        application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
        name TEXT NOT NULL,
        user INTEGER,
        groups TEXT NOT NULL,
        version INTEGER NOT NULL,
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (application, name)
      ) STRICT;
      CREATE INDEX listed_user_version ON listed_user (application, version);
      CREATE INDEX listed_user_user ON listed_user (user);

      CREATE TRIGGER unlist_deleted_user AFTER DELETE ON user
      WHEN EXISTS (SELECT 1 FROM listed_user WHERE user = OLD.id) BEGIN
        UPDATE user_list SET version = version + 1 WHERE application = OLD.application;
        UPDATE listed_user SET user = NULL,
          version = (SELECT version FROM user_list WHERE application = listed_user.application)
        WHERE user = OLD.id;
      END;

      CREATE TRIGGER audit_listed_user AFTER INSERT ON listed_user BEGIN
        INSERT INTO audit (at, event, application, user, account, reason)
        VALUES (NEW.changed_at, 'user listed', (SELECT name FROM application WHERE id = NEW.application), NEW.user,
          NEW.name, iif(NEW.groups = ' ', NULL, 'groups=' || trim(NEW.groups)));
      END;
      CREATE TRIGGER audit_listed_user_again AFTER UPDATE OF user, groups ON listed_user
      WHEN NEW.user IS NOT NULL AND (NEW.user IS NOT OLD.user OR NEW.groups IS NOT OLD.groups) BEGIN
        INSERT INTO audit (at, event, application, user, account, reason)
        VALUES (NEW.changed_at, 'user listed', (SELECT name FROM application WHERE id = NEW.application), NEW.user,
          NEW.name, iif(NEW.groups = ' ', NULL, 'groups=' || trim(NEW.groups)));
      END;
      """)
}
