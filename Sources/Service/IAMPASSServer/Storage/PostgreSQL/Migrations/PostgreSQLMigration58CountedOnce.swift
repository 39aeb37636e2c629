extension PostgreSQLMigration {
  /// The mark, the greatest user and the lists are counted once a transaction or a statement. Each row version stays until the transaction
  /// is over, and whoever reads the row meanwhile passes all of them.
  ///
  /// Messages of changes are as before: one for each. Servers of a version before have their changes counted so, too.
  static let countedOnce = PostgreSQLMigration(
    name: "counted once", least: 1,
    sql: """
      -- The first change of a transaction counts. Two services may have a schema each of one database.
      CREATE OR REPLACE FUNCTION count_mark() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        here text := format('%s %s', TG_TABLE_SCHEMA, txid_current());
      BEGIN
        IF current_setting('iampass.counted', true) IS DISTINCT FROM here THEN
          UPDATE service_mark SET counter = counter + 1;
          PERFORM set_config('iampass.counted', here, true);
        END IF;
        RETURN NULL;
      END $$;

      CREATE OR REPLACE FUNCTION greatest_user_kept() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE greatest_user SET id = (SELECT max(come.id) FROM come) WHERE id < (SELECT max(come.id) FROM come);
        RETURN NULL;
      END $$;
      DROP TRIGGER greatest_user_kept ON app_user;
      CREATE TRIGGER greatest_user_kept AFTER INSERT ON app_user REFERENCING NEW TABLE AS come
        FOR EACH STATEMENT EXECUTE FUNCTION greatest_user_kept();

      CREATE OR REPLACE FUNCTION unlist_deleted_user() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE user_list SET version = version + 1 WHERE application IN (
          SELECT gone.application FROM gone JOIN listed_user ON listed_user.user_id = gone.id);
        UPDATE listed_user SET user_id = NULL,
          version = (SELECT version FROM user_list WHERE application = listed_user.application)
        WHERE user_id IN (SELECT gone.id FROM gone);
        RETURN NULL;
      END $$;
      DROP TRIGGER unlist_deleted_user ON app_user;
      CREATE TRIGGER unlist_deleted_user AFTER DELETE ON app_user REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION unlist_deleted_user();

      DROP TRIGGER count_listed ON listed_user;
      DROP TRIGGER count_listed_again ON listed_user;
      CREATE OR REPLACE FUNCTION count_listed_users() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          UPDATE user_list SET users = users + change.more FROM (
            SELECT come.application AS list, count(come.user_id) AS more FROM come GROUP BY come.application) AS change
          WHERE user_list.application = change.list AND change.more <> 0;
        ELSIF TG_OP = 'DELETE' THEN
          UPDATE user_list SET users = users - change.less FROM (
            SELECT gone.application AS list, count(gone.user_id) AS less FROM gone GROUP BY gone.application) AS change
          WHERE user_list.application = change.list AND change.less <> 0;
        ELSE
          UPDATE user_list SET users = users + change.more FROM (
            SELECT list, sum(one)::bigint AS more FROM (
              SELECT come.application AS list, count(come.user_id) AS one FROM come GROUP BY come.application
              UNION ALL
              SELECT gone.application, -count(gone.user_id) FROM gone GROUP BY gone.application) AS counts
            GROUP BY list) AS change
          WHERE user_list.application = change.list AND change.more <> 0;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER count_listed AFTER INSERT ON listed_user REFERENCING NEW TABLE AS come
        FOR EACH STATEMENT EXECUTE FUNCTION count_listed_users();
      CREATE TRIGGER count_listed_gone AFTER DELETE ON listed_user REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION count_listed_users();
      CREATE TRIGGER count_listed_again AFTER UPDATE ON listed_user REFERENCING OLD TABLE AS gone NEW TABLE AS come
        FOR EACH STATEMENT EXECUTE FUNCTION count_listed_users();
      """)
}
