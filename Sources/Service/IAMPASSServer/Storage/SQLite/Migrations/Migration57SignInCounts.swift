extension Migration {
  /// How many sign-ins each day had, by result: the console's chart reads these rows, and no entry of the audit. A trigger
  /// counts an entry once its date is the wall clock's, which is when `audit_noted` gives it its service time. What was noted
  /// in the last 20 days is counted now, which are the days of the chart and more.
  static let signInCounts = Migration(
    "sign-in counts",
    sql: """
      CREATE TABLE sign_in_count (
        day INTEGER NOT NULL,
        result TEXT NOT NULL,
        count INTEGER NOT NULL,
        noted_at INTEGER NOT NULL,
        PRIMARY KEY (day, result)
      ) STRICT;

      INSERT INTO sign_in_count (day, result, count, noted_at)
      SELECT at / 86400000, CASE WHEN event = 'ended' THEN 'not answered' ELSE event END, count(*), max(noted_at) FROM audit
      WHERE noted_at >= (SELECT max(noted_at) FROM audit) - 1728000000
        AND (event IN ('approved', 'denied') OR event = 'ended' AND reason = 'NOT_ANSWERED')
      GROUP BY 1, 2;

      CREATE TRIGGER sign_ins_counted AFTER UPDATE OF noted_at ON audit
      WHEN OLD.noted_at IS NULL AND NEW.noted_at IS NOT NULL
        AND (NEW.event IN ('approved', 'denied') OR NEW.event = 'ended' AND NEW.reason = 'NOT_ANSWERED')
      BEGIN
        INSERT INTO sign_in_count (day, result, count, noted_at)
        VALUES (NEW.at / 86400000, CASE WHEN NEW.event = 'ended' THEN 'not answered' ELSE NEW.event END, 1, NEW.noted_at)
        ON CONFLICT (day, result) DO UPDATE
        SET count = sign_in_count.count + 1, noted_at = max(sign_in_count.noted_at, excluded.noted_at);
      END;
      """)
}
