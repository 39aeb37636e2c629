extension PostgreSQLMigration {
  /// See ``Migration/keptCounts``. The triggers count for servers of a version before, too. What is counted under their locks
  /// is what the service has now: ended sessions, which may be millions, are left out by an index.
  static let keptCounts = PostgreSQLMigration(
    name: "kept counts", least: 1,
    sql: """
      CREATE TABLE kept_count (
        application text NOT NULL,
        kind text NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (application, kind)
      );

      CREATE FUNCTION keep_count(place text, what text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO kept_count (application, kind, count) VALUES (place, what, change)
        ON CONFLICT (application, kind) DO UPDATE SET count = kept_count.count + excluded.count;
      END $$;

      CREATE FUNCTION count_user() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN PERFORM keep_count(NEW.application, 'users', 1);
        ELSE PERFORM keep_count(OLD.application, 'users', -1);
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER user_counted AFTER INSERT OR DELETE ON app_user FOR EACH ROW EXECUTE FUNCTION count_user();

      CREATE FUNCTION count_computer() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          IF OLD.revoked_at IS NULL AND OLD.is_openid = 0 THEN
            PERFORM keep_count(OLD.application, 'computers', -1);
          END IF;
        END IF;
        IF TG_OP <> 'DELETE' THEN
          IF NEW.revoked_at IS NULL AND NEW.is_openid = 0 THEN
            PERFORM keep_count(NEW.application, 'computers', 1);
          END IF;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER computer_counted AFTER INSERT OR DELETE ON host_credential FOR EACH ROW
        EXECUTE FUNCTION count_computer();
      CREATE TRIGGER computer_counted_again AFTER UPDATE OF revoked_at ON host_credential FOR EACH ROW
        WHEN ((NEW.revoked_at IS NULL) <> (OLD.revoked_at IS NULL)) EXECUTE FUNCTION count_computer();

      CREATE FUNCTION count_phone() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          IF OLD.cut_off_at IS NULL THEN PERFORM keep_count('', 'phones', -1); END IF;
        END IF;
        IF TG_OP <> 'DELETE' THEN
          IF NEW.cut_off_at IS NULL THEN PERFORM keep_count('', 'phones', 1); END IF;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER phone_counted AFTER INSERT OR DELETE ON phone FOR EACH ROW EXECUTE FUNCTION count_phone();
      CREATE TRIGGER phone_counted_again AFTER UPDATE OF cut_off_at ON phone FOR EACH ROW
        WHEN ((NEW.cut_off_at IS NULL) <> (OLD.cut_off_at IS NULL)) EXECUTE FUNCTION count_phone();

      CREATE FUNCTION count_session() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          IF OLD.ended_at IS NULL THEN
            PERFORM keep_count(
              OLD.application, CASE WHEN OLD.approved_at IS NULL THEN 'unanswered' ELSE 'live' END, -1);
          END IF;
        END IF;
        IF TG_OP <> 'DELETE' THEN
          IF NEW.ended_at IS NULL THEN
            PERFORM keep_count(
              NEW.application, CASE WHEN NEW.approved_at IS NULL THEN 'unanswered' ELSE 'live' END, 1);
          END IF;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER session_counted AFTER INSERT OR DELETE ON session FOR EACH ROW EXECUTE FUNCTION count_session();
      CREATE TRIGGER session_counted_again AFTER UPDATE OF approved_at, ended_at ON session FOR EACH ROW
        WHEN ((NEW.approved_at IS NULL) <> (OLD.approved_at IS NULL) OR (NEW.ended_at IS NULL) <> (OLD.ended_at IS NULL))
        EXECUTE FUNCTION count_session();

      INSERT INTO kept_count (application, kind, count)
      SELECT application, 'users', count(*) FROM app_user GROUP BY application
      UNION ALL SELECT application, 'computers', count(*) FROM host_credential
      WHERE revoked_at IS NULL AND is_openid = 0 GROUP BY application
      UNION ALL SELECT application, CASE WHEN approved_at IS NULL THEN 'unanswered' ELSE 'live' END, count(*) FROM session
      WHERE ended_at IS NULL GROUP BY 1, 2
      UNION ALL SELECT '', 'phones', count(*) FROM phone WHERE cut_off_at IS NULL GROUP BY cut_off_at;
      """)
}
