/// The audit's table, and what writes into it: the database itself, in the transaction of whatever happens. So nothing
/// that is stored is left out, whoever stored it, and nothing is in the audit that did not happen.
enum AuditSchema {
  /// What a user's id at the service is, is left out: it is the token of the computers' users files.
  static let table = """
    ALTER TABLE session ADD COLUMN address TEXT;

    CREATE TABLE audit (
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      event TEXT NOT NULL,
      application TEXT,
      user INTEGER,
      phone TEXT,
      session TEXT,
      host TEXT,
      service TEXT,
      account TEXT,
      tty TEXT,
      remote_host TEXT,
      address TEXT,
      credential TEXT,
      reason TEXT
    ) STRICT;
    CREATE INDEX audit_age ON audit (at);
    """

  static let triggers = """
    CREATE TRIGGER audit_asked AFTER INSERT ON session BEGIN
      \(ofSession(event: "'asked'", at: "NEW.started_at"))
    END;

    CREATE TRIGGER audit_session AFTER UPDATE OF status ON session
    WHEN NEW.status IS NOT OLD.status AND NEW.status NOT IN ('pending', 'identifying') BEGIN
      \(ofSession(event: event, at: "coalesce(NEW.ended_at, iif(OLD.status = 'walkaway' OR NEW.status = 'walkaway', \(now), NEW.approved_at), \(now))"))
    END;

    CREATE TRIGGER audit_phone AFTER INSERT ON phone BEGIN
      INSERT INTO audit (at, event, application, user, phone)
      VALUES (NEW.registered_at, 'phone registered', \(applicationOfUser), NEW.user, NEW.display_name);
    END;

    CREATE TRIGGER audit_phone_cut_off AFTER UPDATE OF cut_off_at ON phone
    WHEN OLD.cut_off_at IS NULL AND NEW.cut_off_at IS NOT NULL BEGIN
      INSERT INTO audit (at, event, application, user, phone)
      VALUES (NEW.cut_off_at, 'phone cut off', \(applicationOfUser), NEW.user, NEW.display_name);
    END;

    CREATE TRIGGER audit_user AFTER INSERT ON user BEGIN
      INSERT INTO audit (at, event, application, user)
      VALUES (\(now), 'user added', \(application("NEW.application")), NEW.id);
    END;

    CREATE TRIGGER audit_user_deleted AFTER DELETE ON user BEGIN
      INSERT INTO audit (at, event, application, user)
      VALUES (\(now), 'user deleted', \(application("OLD.application")), OLD.id);
    END;

    CREATE TRIGGER audit_application AFTER INSERT ON application BEGIN
      INSERT INTO audit (at, event, application) VALUES (NEW.created_at, 'application made', NEW.name);
    END;

    CREATE TRIGGER audit_secret AFTER UPDATE OF secret ON application WHEN NEW.secret IS NOT OLD.secret BEGIN
      INSERT INTO audit (at, event, application) VALUES (\(now), 'application secret renewed', NEW.name);
    END;

    CREATE TRIGGER audit_credential AFTER INSERT ON host_credential BEGIN
      INSERT INTO audit (at, event, application, host, credential)
      VALUES (NEW.created_at, 'credential made', \(application("NEW.application")), NEW.host, NEW.name);
    END;

    CREATE TRIGGER audit_credential_revoked AFTER UPDATE OF revoked_at ON host_credential
    WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL BEGIN
      INSERT INTO audit (at, event, application, host, credential)
      VALUES (NEW.revoked_at, 'credential revoked', \(application("NEW.application")), NEW.host, NEW.name);
    END;
    """

  /// What came to be listed later.
  static let furtherTriggers = """
    ALTER TABLE console_session ADD COLUMN address TEXT;

    CREATE TRIGGER audit_link AFTER INSERT ON link BEGIN
      INSERT INTO audit (at, event, application, user, phone, reason)
      VALUES (NEW.expires_at - \(Link.lifetime * 1_000), 'registration link made', \(applicationOfUser), NEW.user,
        NEW.display_name, iif(NEW.replaces_phone, 'PHONE_LOST', NULL));
    END;

    -- Before, since a replaced one is gone afterwards.
    CREATE TRIGGER audit_phone_credential BEFORE INSERT ON phone_credential BEGIN
      INSERT INTO audit (at, event, application, user, phone)
      SELECT NEW.added_at,
        iif(EXISTS (SELECT 1 FROM phone_credential WHERE phone = NEW.phone), 'phone credential replaced',
          'phone credential added'),
        application.name, phone.user, phone.display_name
      FROM phone LEFT JOIN user ON user.id = phone.user LEFT JOIN application ON application.id = user.application
      WHERE phone.id = NEW.phone;
    END;

    CREATE TRIGGER audit_console_link AFTER INSERT ON console_link BEGIN
      INSERT INTO audit (at, event) VALUES (NEW.expires_at - \(ConsoleAccess.linkLifetime * 1_000), 'console link made');
    END;

    CREATE TRIGGER audit_console_session AFTER INSERT ON console_session BEGIN
      INSERT INTO audit (at, event, address) VALUES (NEW.used_at, 'console sign-in', NEW.address);
    END;

    CREATE TRIGGER audit_credential_renamed AFTER UPDATE OF name ON host_credential WHEN NEW.name IS NOT OLD.name BEGIN
      INSERT INTO audit (at, event, application, host, credential, reason)
      VALUES (\(now), 'credential renamed', \(application("NEW.application")), NEW.host, NEW.name, 'was ' || OLD.name);
    END;

    DROP TRIGGER audit_settings;
    CREATE TRIGGER audit_settings
    AFTER UPDATE OF \(settings.map(\.column).joined(separator: ", ")) ON application
    WHEN \(settings.map { "NEW.\($0.column) IS NOT OLD.\($0.column)" }.joined(separator: " OR ")) BEGIN
      INSERT INTO audit (at, event, application, reason)
      VALUES (\(now), 'settings changed', NEW.name, trim(\(settings.map(\.change).joined(separator: " || "))));
    END;
    """

  /// A setting's column, and how its new value is written.
  private struct Setting {
    let column: String
    let value: String

    init(_ column: String, _ value: String) {
      self.column = column
      self.value = value
    }

    /// Nothing where it is as it was.
    var change: String { "iif(NEW.\(column) IS OLD.\(column), '', ' ' || \(value))" }
  }

  private static let settings = [
    Setting("disabled_at", "iif(NEW.disabled_at IS NULL, 'enabled', 'disabled')"),
    Setting("walkaway", "'walkaway=' || iif(NEW.walkaway, 'on', 'off')"),
    Setting("silence_leaves", "'silence=' || iif(NEW.silence_leaves, 'on', 'off')"),
    Setting(
      "match_code", "'match-code=' || CASE NEW.match_code WHEN 0 THEN 'off' WHEN 1 THEN 'on' ELSE 'required' END"),
    Setting("answer_time", "'answer-time=' || NEW.answer_time"),
    Setting("greatest_duration", "'greatest-duration=' || NEW.greatest_duration"),
    Setting("hook", "'program=' || NEW.hook"),
  ]

  private static let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

  /// What a session's new status says of it.
  private static let event = """
    CASE
      WHEN NEW.status = 'active' AND OLD.status = 'walkaway' THEN 'back'
      WHEN NEW.status = 'active' THEN 'approved'
      WHEN NEW.status = 'walkaway' THEN 'walked away'
      WHEN NEW.ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') THEN 'denied'
      ELSE 'ended'
    END
    """

  private static let applicationOfUser =
    "(SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user)"

  private static func application(_ id: String) -> String { "(SELECT name FROM application WHERE id = \(id))" }

  private static func ofSession(event: String, at: String) -> String {
    """
    INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
      credential, reason)
      VALUES (\(at), \(event), \(application("NEW.application")), NEW.user,
        (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
        json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
        json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
        json_extract(NEW.context, '$.remote_host'), NEW.address,
        (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.ending);
    """
  }
}
