extension PostgreSQLMigration {
  /// The channel on which changes are told, also where MD5 is forbidden (FIPS 140).
  ///
  /// Each database has one channel, which servers of all versions work out by themselves. A database that has `md5` keeps
  /// the channel that servers from before this migration listen on. They cannot work on one that has not, so that there
  /// another name divides nobody. Whether it has is asked each time: a copy may be put back on another server.
  static let changeChannel = PostgreSQLMigration(
    name: "change channel", least: 1,
    sql: """
      -- A name has 63 bytes at most.
      CREATE FUNCTION change_channel(of_schema text) RETURNS text LANGUAGE plpgsql STABLE AS $$
      BEGIN
        RETURN 'iampass_' || md5(of_schema);
      EXCEPTION WHEN internal_error THEN
        RETURN 'iampass_' || left(encode(sha256(convert_to(of_schema, 'UTF8')), 'hex'), 32);
      END $$;

      CREATE OR REPLACE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        channel text := change_channel(TG_TABLE_SCHEMA);
        place text := (SELECT counter FROM service_mark)::text;
      BEGIN
        PERFORM pg_notify(channel, place || ' session ' || NEW.id);
        IF NEW.user_id IS NOT NULL THEN PERFORM pg_notify(channel, place || ' user ' || NEW.user_id); END IF;
        RETURN NULL;
      END $$;

      CREATE OR REPLACE FUNCTION tell_locum() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify(change_channel(TG_TABLE_SCHEMA),
          (SELECT counter FROM service_mark)::text || ' user ' || NEW.locum_user);
        RETURN NULL;
      END $$;
      """)
}
