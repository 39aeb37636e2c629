extension PostgreSQLMigration {
  /// What the database keeps by itself: users' ids, the last use of a user, the mark of its history, and nonces.
  static let marks = PostgreSQLMigration(
    name: "marks", least: 1,
    sql: """
      -- Ids of deleted users are not given again: the audit names them.
      CREATE TABLE greatest_user (id bigint NOT NULL);
      INSERT INTO greatest_user VALUES (0);
      CREATE FUNCTION greatest_user_kept() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE greatest_user SET id = greatest(id, NEW.id);
        RETURN NULL;
      END $$;
      CREATE TRIGGER greatest_user_kept AFTER INSERT ON app_user FOR EACH ROW EXECUTE FUNCTION greatest_user_kept();

      CREATE FUNCTION user_last_use() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE app_user SET last_used_at = NEW.approved_at WHERE id = NEW.user_id;
        RETURN NULL;
      END $$;
      CREATE TRIGGER user_last_use AFTER UPDATE OF approved_at ON session FOR EACH ROW
        WHEN (NEW.approved_at IS DISTINCT FROM OLD.approved_at) EXECUTE FUNCTION user_last_use();

      CREATE TABLE service_mark (
        id bigint PRIMARY KEY CHECK (id = 1),
        epoch bigint NOT NULL,
        counter bigint NOT NULL
      );
      INSERT INTO service_mark VALUES (1, extract(epoch FROM clock_timestamp())::bigint, 0);
      CREATE FUNCTION count_mark() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE service_mark SET counter = counter + 1;
        RETURN NULL;
      END $$;
      CREATE TRIGGER mark_asked AFTER INSERT ON session FOR EACH ROW EXECUTE FUNCTION count_mark();
      CREATE TRIGGER mark_changed AFTER UPDATE OF status ON session FOR EACH ROW
        WHEN (NEW.status IS DISTINCT FROM OLD.status) EXECUTE FUNCTION count_mark();

      -- For whoever waits for a session or a user, at any server. After the mark is counted: triggers of one kind run in
      -- the order of their names. Two services may have a schema each of one database.
      CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        channel text := 'iampass_' || md5(TG_TABLE_SCHEMA);
        place text := (SELECT counter FROM service_mark)::text;
      BEGIN
        PERFORM pg_notify(channel, place || ' session ' || NEW.id);
        IF NEW.user_id IS NOT NULL THEN PERFORM pg_notify(channel, place || ' user ' || NEW.user_id); END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER told_asked AFTER INSERT ON session FOR EACH ROW EXECUTE FUNCTION tell_change();
      CREATE TRIGGER told_changed AFTER UPDATE OF status, ending, ended_at ON session FOR EACH ROW
        WHEN (NEW.status IS DISTINCT FROM OLD.status OR NEW.ended_at IS DISTINCT FROM OLD.ended_at)
        EXECUTE FUNCTION tell_change();

      -- 1 if this spent the nonce. The lock lets no nonce be forgotten meanwhile; each statement after it sees what was
      -- committed until then. The commit waits for no disk: the next commit that does brings this one with it.
      CREATE FUNCTION spend_nonce(
        of_client text, of_nonce text, of_forget_at bigint, of_now bigint, of_credential text, of_interval bigint
      ) RETURNS bigint LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM set_config('synchronous_commit', 'off', true);
        LOCK TABLE forgotten_nonces IN ROW EXCLUSIVE MODE;
        INSERT INTO spent_nonce (client, nonce, forget_at, spent_at)
        SELECT of_client, of_nonce, of_forget_at, of_now
        WHERE NOT EXISTS (SELECT 1 FROM restored_copy WHERE nonces_spent_until > of_forget_at)
          AND NOT EXISTS (SELECT 1 FROM forgotten_nonces WHERE of_forget_at BETWEEN first AND last)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RETURN 0; END IF;
        UPDATE host_credential SET last_used_at = of_now
        WHERE id = of_credential AND coalesce(last_used_at, 0) <= of_now - of_interval;
        RETURN 1;
      END $$;
      """)
}
