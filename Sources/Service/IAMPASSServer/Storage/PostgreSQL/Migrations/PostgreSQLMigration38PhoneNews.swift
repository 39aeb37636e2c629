extension PostgreSQLMigration {
  /// What else a user's phone shows, told to all servers as changes of sessions are: the phone itself and its methods,
  /// methods that it lacks, uses of codes, and requests that were held back.
  ///
  /// Only what a phone shows is told, and not that it was heard or looked at, which would be told for each request. Older
  /// servers understand the messages.
  static let phoneNews = PostgreSQLMigration(
    name: "news of phones", least: 1,
    sql: """
      CREATE FUNCTION tell_user(told_schema text, told_user bigint) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        IF told_user IS NOT NULL THEN
          PERFORM pg_notify(change_channel(told_schema), (SELECT counter FROM service_mark)::text || ' user ' || told_user);
        END IF;
      END $$;

      CREATE FUNCTION tell_own_user() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM tell_user(TG_TABLE_SCHEMA, NEW.user_id);
        RETURN NULL;
      END $$;
      CREATE TRIGGER told_phone AFTER INSERT ON phone FOR EACH ROW EXECUTE FUNCTION tell_own_user();
      CREATE TRIGGER told_phone_changed AFTER UPDATE OF cut_off_at, presence ON phone FOR EACH ROW
        WHEN (NEW.cut_off_at IS DISTINCT FROM OLD.cut_off_at OR NEW.presence IS DISTINCT FROM OLD.presence)
        EXECUTE FUNCTION tell_own_user();
      CREATE TRIGGER told_code_use AFTER INSERT ON code_use FOR EACH ROW EXECUTE FUNCTION tell_own_user();
      -- And not each time when a computer says that its session goes on.
      CREATE TRIGGER told_code_use_changed AFTER UPDATE OF open_until, disowned_at ON code_use FOR EACH ROW
        WHEN ((NEW.open_until IS NULL) <> (OLD.open_until IS NULL) OR NEW.disowned_at IS DISTINCT FROM OLD.disowned_at)
        EXECUTE FUNCTION tell_own_user();
      CREATE TRIGGER told_held_back AFTER UPDATE OF held_back ON session FOR EACH ROW
        WHEN (NEW.held_back IS DISTINCT FROM OLD.held_back) EXECUTE FUNCTION tell_own_user();

      CREATE FUNCTION tell_user_of_phone() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM tell_user(TG_TABLE_SCHEMA, (SELECT user_id FROM phone WHERE id = NEW.phone));
        RETURN NULL;
      END $$;
      CREATE TRIGGER told_phone_credential AFTER INSERT OR UPDATE OF credential ON phone_credential FOR EACH ROW
        EXECUTE FUNCTION tell_user_of_phone();
      CREATE TRIGGER told_face AFTER INSERT OR UPDATE OF is_offered ON face FOR EACH ROW
        EXECUTE FUNCTION tell_user_of_phone();
      CREATE TRIGGER told_training AFTER INSERT ON training FOR EACH ROW EXECUTE FUNCTION tell_user_of_phone();
      """)
}
