extension PostgreSQLMigration {
  /// How many sign-ins each day had, by result: see ``Migration/signInCounts``. The trigger counts what servers of a version
  /// before note, too.
  static let signInCounts = PostgreSQLMigration(
    name: "sign-in counts", least: 1,
    sql: """
      CREATE TABLE sign_in_count (
        day bigint NOT NULL,
        result text NOT NULL,
        count bigint NOT NULL,
        noted_at bigint NOT NULL,
        PRIMARY KEY (day, result)
      );

      CREATE FUNCTION count_sign_in() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO sign_in_count (day, result, count, noted_at)
        VALUES (NEW.at / 86400000, CASE WHEN NEW.event = 'ended' THEN 'not answered' ELSE NEW.event END, 1, NEW.noted_at)
        ON CONFLICT (day, result) DO UPDATE
        SET count = sign_in_count.count + 1, noted_at = greatest(sign_in_count.noted_at, excluded.noted_at);
        RETURN NULL;
      END $$;
      CREATE TRIGGER sign_ins_counted AFTER INSERT ON audit FOR EACH ROW
        WHEN (NEW.event IN ('approved', 'denied') OR NEW.event = 'ended' AND NEW.reason = 'NOT_ANSWERED')
        EXECUTE FUNCTION count_sign_in();

      INSERT INTO sign_in_count (day, result, count, noted_at)
      SELECT at / 86400000, CASE WHEN event = 'ended' THEN 'not answered' ELSE event END, count(*), max(noted_at) FROM audit
      WHERE noted_at >= (SELECT max(noted_at) FROM audit) - 1728000000
        AND (event IN ('approved', 'denied') OR event = 'ended' AND reason = 'NOT_ANSWERED')
      GROUP BY 1, 2;
      """, parts: [signInsFromNowOn, signInsOfTheLastDays])

  /// The trigger's lock is there once no entry is being written: the entries up to the last one are those that it does not
  /// count.
  private static let signInsFromNowOn = PostgreSQLMigration(
    name: "sign-in counts, from now on", least: 1,
    sql: """
      CREATE TABLE sign_in_count (
        day bigint NOT NULL,
        result text NOT NULL,
        count bigint NOT NULL,
        noted_at bigint NOT NULL,
        PRIMARY KEY (day, result)
      );

      CREATE FUNCTION count_sign_in() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO sign_in_count (day, result, count, noted_at)
        VALUES (NEW.at / 86400000, CASE WHEN NEW.event = 'ended' THEN 'not answered' ELSE NEW.event END, 1, NEW.noted_at)
        ON CONFLICT (day, result) DO UPDATE
        SET count = sign_in_count.count + 1, noted_at = greatest(sign_in_count.noted_at, excluded.noted_at);
        RETURN NULL;
      END $$;
      CREATE TRIGGER sign_ins_counted AFTER INSERT ON audit FOR EACH ROW
        WHEN (NEW.event IN ('approved', 'denied') OR NEW.event = 'ended' AND NEW.reason = 'NOT_ANSWERED')
        EXECUTE FUNCTION count_sign_in();

      CREATE TABLE uncounted_sign_ins AS SELECT coalesce(max(id), 0) AS last FROM audit;
      """)

  /// Reads the audit without a lock that a writer waits for. Only at its end do the counts of these days wait for its commit.
  private static let signInsOfTheLastDays = PostgreSQLMigration(
    name: "sign-in counts", least: 1,
    sql: """
      INSERT INTO sign_in_count (day, result, count, noted_at)
      SELECT at / 86400000, CASE WHEN event = 'ended' THEN 'not answered' ELSE event END, count(*), max(noted_at) FROM audit
      WHERE id <= (SELECT last FROM uncounted_sign_ins)
        AND noted_at >= (SELECT max(noted_at) FROM audit) - 1728000000
        AND (event IN ('approved', 'denied') OR event = 'ended' AND reason = 'NOT_ANSWERED')
      GROUP BY 1, 2
      ON CONFLICT (day, result) DO UPDATE
      SET count = sign_in_count.count + excluded.count, noted_at = greatest(sign_in_count.noted_at, excluded.noted_at);

      DROP TABLE uncounted_sign_ins;
      DELETE FROM schema_migration WHERE name = 'sign-in counts, from now on';
      """)
}
