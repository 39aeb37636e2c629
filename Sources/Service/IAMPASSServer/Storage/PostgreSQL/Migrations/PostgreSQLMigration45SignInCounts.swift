extension PostgreSQLMigration {
  /// How many sign-ins each day had, by result: see ``Migration/signInCounts``. The trigger counts what servers of a version
  /// before note, too. It exists before the last 20 days are counted, and writers wait until they are.
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
      """)
}
