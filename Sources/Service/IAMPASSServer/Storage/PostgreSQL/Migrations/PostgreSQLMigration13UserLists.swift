extension PostgreSQLMigration {
  /// Users by their Unix names, for computers that have their users from the service. Whoever was removed keeps a row
  /// without a user, so that computers are told only what changed. A user who is deleted in whatever way leaves the list
  /// in the same step.
  static let userLists = PostgreSQLMigration(
    name: "user lists", least: 1,
    sql: """
      ALTER TABLE host_credential ADD COLUMN computer_group text NOT NULL DEFAULT '';
      ALTER TABLE join_code ADD COLUMN computer_group text NOT NULL DEFAULT '';

      CREATE TABLE user_list (
        application text PRIMARY KEY REFERENCES application ON DELETE CASCADE,
        version bigint NOT NULL
      );

      CREATE TABLE listed_user (
        application text NOT NULL REFERENCES application ON DELETE CASCADE,
        name text NOT NULL,
        user_id bigint,
        groups text NOT NULL,
        version bigint NOT NULL,
        changed_at bigint NOT NULL,
        PRIMARY KEY (application, name)
      );
      CREATE INDEX listed_user_version ON listed_user (application, version);
      CREATE INDEX listed_user_user ON listed_user (user_id);

      CREATE FUNCTION unlist_deleted_user() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT 1 FROM listed_user WHERE user_id = OLD.id) THEN
          UPDATE user_list SET version = version + 1 WHERE application = OLD.application;
          UPDATE listed_user SET user_id = NULL,
            version = (SELECT version FROM user_list WHERE application = listed_user.application)
          WHERE user_id = OLD.id;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER unlist_deleted_user AFTER DELETE ON app_user FOR EACH ROW EXECUTE FUNCTION unlist_deleted_user();

      CREATE FUNCTION audit_listed_user() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (at, event, application, user_id, account, reason)
        VALUES (NEW.changed_at, 'user listed', (SELECT name FROM application WHERE id = NEW.application), NEW.user_id,
          NEW.name, CASE WHEN NEW.groups = ' ' THEN NULL ELSE 'groups=' || trim(NEW.groups) END);
        RETURN NULL;
      END $$;
      CREATE TRIGGER audit_listed_user AFTER INSERT ON listed_user FOR EACH ROW EXECUTE FUNCTION audit_listed_user();
      CREATE TRIGGER audit_listed_user_again AFTER UPDATE ON listed_user FOR EACH ROW
        WHEN (NEW.user_id IS NOT NULL
          AND (NEW.user_id IS DISTINCT FROM OLD.user_id OR NEW.groups IS DISTINCT FROM OLD.groups))
        EXECUTE FUNCTION audit_listed_user();
      """)
}
