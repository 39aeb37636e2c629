extension Migration {
  /// How many users, computers, phones, unanswered requests and live sessions there are. Triggers keep the counts: the
  /// console and the metrics count no rows. Phones are of the whole service, and have no application here. An application
  /// that is deleted leaves zeros. A new database has no rows here: `database move` takes rows for a service's data.
  static let keptCounts = Migration(
    "kept counts",
    sql: """
      CREATE TABLE kept_count (
        application TEXT NOT NULL,
        kind TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (application, kind)
      ) STRICT;

      INSERT INTO kept_count (application, kind, count)
      SELECT application, 'users', count(*) FROM user GROUP BY application
      UNION ALL SELECT application, 'computers', count(*) FROM host_credential
      WHERE revoked_at IS NULL AND is_openid = 0 GROUP BY application
      UNION ALL SELECT application, iif(approved_at IS NULL, 'unanswered', 'live'), count(*) FROM session
      WHERE ended_at IS NULL GROUP BY 1, 2
      UNION ALL SELECT '', 'phones', count(*) FROM phone WHERE cut_off_at IS NULL GROUP BY cut_off_at;

      CREATE TRIGGER user_counted AFTER INSERT ON user BEGIN
        INSERT INTO kept_count (application, kind, count) VALUES (NEW.application, 'users', 1)
        ON CONFLICT (application, kind) DO UPDATE SET count = kept_count.count + 1;
      END;
      CREATE TRIGGER user_counted_no_more AFTER DELETE ON user BEGIN
        UPDATE kept_count SET count = count - 1 WHERE application = OLD.application AND kind = 'users';
      END;

      CREATE TRIGGER computer_counted AFTER INSERT ON host_credential
      WHEN NEW.revoked_at IS NULL AND NEW.is_openid = 0 BEGIN
        INSERT INTO kept_count (application, kind, count) VALUES (NEW.application, 'computers', 1)
        ON CONFLICT (application, kind) DO UPDATE SET count = kept_count.count + 1;
      END;
      CREATE TRIGGER computer_counted_again AFTER UPDATE OF revoked_at ON host_credential
      WHEN NEW.is_openid = 0 AND (NEW.revoked_at IS NULL) <> (OLD.revoked_at IS NULL) BEGIN
        UPDATE kept_count SET count = count + iif(NEW.revoked_at IS NULL, 1, -1)
        WHERE application = NEW.application AND kind = 'computers';
      END;
      CREATE TRIGGER computer_counted_no_more AFTER DELETE ON host_credential
      WHEN OLD.revoked_at IS NULL AND OLD.is_openid = 0 BEGIN
        UPDATE kept_count SET count = count - 1 WHERE application = OLD.application AND kind = 'computers';
      END;

      CREATE TRIGGER phone_counted AFTER INSERT ON phone WHEN NEW.cut_off_at IS NULL BEGIN
        INSERT INTO kept_count (application, kind, count) VALUES ('', 'phones', 1)
        ON CONFLICT (application, kind) DO UPDATE SET count = kept_count.count + 1;
      END;
      CREATE TRIGGER phone_counted_again AFTER UPDATE OF cut_off_at ON phone
      WHEN (NEW.cut_off_at IS NULL) <> (OLD.cut_off_at IS NULL) BEGIN
        UPDATE kept_count SET count = count + iif(NEW.cut_off_at IS NULL, 1, -1)
        WHERE application = '' AND kind = 'phones';
      END;
      CREATE TRIGGER phone_counted_no_more AFTER DELETE ON phone WHEN OLD.cut_off_at IS NULL BEGIN
        UPDATE kept_count SET count = count - 1 WHERE application = '' AND kind = 'phones';
      END;

      CREATE TRIGGER session_counted AFTER INSERT ON session WHEN NEW.ended_at IS NULL BEGIN
        INSERT INTO kept_count (application, kind, count)
        VALUES (NEW.application, iif(NEW.approved_at IS NULL, 'unanswered', 'live'), 1)
        ON CONFLICT (application, kind) DO UPDATE SET count = kept_count.count + 1;
      END;
      CREATE TRIGGER session_counted_again AFTER UPDATE OF approved_at, ended_at ON session
      WHEN (NEW.approved_at IS NULL) <> (OLD.approved_at IS NULL) OR (NEW.ended_at IS NULL) <> (OLD.ended_at IS NULL)
      BEGIN
        UPDATE kept_count SET count = count - 1
        WHERE OLD.ended_at IS NULL AND application = OLD.application
          AND kind = iif(OLD.approved_at IS NULL, 'unanswered', 'live');
        INSERT INTO kept_count (application, kind, count)
        SELECT NEW.application, iif(NEW.approved_at IS NULL, 'unanswered', 'live'), 1 WHERE NEW.ended_at IS NULL
        ON CONFLICT (application, kind) DO UPDATE SET count = kept_count.count + 1;
      END;
      CREATE TRIGGER session_counted_no_more AFTER DELETE ON session WHEN OLD.ended_at IS NULL BEGIN
        UPDATE kept_count SET count = count - 1
        WHERE application = OLD.application AND kind = iif(OLD.approved_at IS NULL, 'unanswered', 'live');
      END;
      """)
}
