/// A database as the last released version left it, with rows in every table: the output of `.dump` of sqlite3(1).
///
/// This text never changes. A new release adds a text of its own.
enum ReleasedDatabase {
  static let version09 = #"""
    CREATE TABLE answer (
      session TEXT PRIMARY KEY,
      phone TEXT NOT NULL,
      public_key TEXT NOT NULL,
      statement TEXT NOT NULL,
      signature TEXT NOT NULL,
      context TEXT NOT NULL,
      assertion TEXT,
      credential_key TEXT,
      answered_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO "answer" VALUES('s1','p1','MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8V/vJ4DvAOQ2+x6TdDzZ8kyYbFNreA5LVy6aHNl8ImpFQ49RPXUbGlXZZS6dwVEokapi5LwjhwX0sGEpafSmHA==','{}','sig','{"host": "laptop-7", "service": "sshd", "user": "alice", "remote_host": "192.0.2.1"}',NULL,NULL,1799998999700);
    CREATE TABLE application (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      secret TEXT NOT NULL,
      created_at INTEGER NOT NULL
    , match_code INTEGER NOT NULL DEFAULT 1, walkaway INTEGER NOT NULL DEFAULT 1, answer_time INTEGER NOT NULL DEFAULT 60, greatest_duration INTEGER NOT NULL DEFAULT 2592000, hook TEXT NOT NULL DEFAULT '', disabled_at INTEGER, silence_leaves INTEGER NOT NULL DEFAULT 0) STRICT;
    INSERT INTO "application" VALUES('a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1','office','0123456789abcdef01234567012345ab',1799998999000,1,1,60,2592000,'',NULL,0);
    INSERT INTO "application" VALUES('a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2','shop','0123456789abcdef01234567012345ab',1799998999001,2,0,30,3600,'/usr/local/bin/send',1799999000000,1);
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
    INSERT INTO "audit" VALUES(1,1799998999000,'application made','office',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(2,1799998999001,'application made','shop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(3,1799999000003,'settings changed','shop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'walkaway=off silence=on match-code=required answer-time=30 greatest-duration=3600 program=/usr/local/bin/send');
    INSERT INTO "audit" VALUES(4,1799999000004,'settings changed','shop',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'disabled');
    INSERT INTO "audit" VALUES(5,1799999000005,'user added','office',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(6,1799999000006,'user added','office',2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(7,1799999000007,'user added','office',3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(8,1799999000008,'user deleted','office',3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(9,1799998999100,'phone registered','office',1,'Alice old',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(10,1799998999200,'phone cut off','office',1,'Alice old',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(11,1799998999300,'phone registered','office',1,'Alice',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(12,1799999000000,'registration link made','office',2,'Bob',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(13,1799999000013,'registration link made','office',1,'Alice',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'PHONE_LOST');
    INSERT INTO "audit" VALUES(14,1799998999400,'credential made','office',NULL,NULL,NULL,'laptop-7',NULL,NULL,NULL,NULL,NULL,'laptop',NULL);
    INSERT INTO "audit" VALUES(15,1799998999400,'credential made','office',NULL,NULL,NULL,'laptop-6',NULL,NULL,NULL,NULL,NULL,'old laptop',NULL);
    INSERT INTO "audit" VALUES(16,1799998999500,'credential revoked','office',NULL,NULL,NULL,'laptop-6',NULL,NULL,NULL,NULL,NULL,'old laptop',NULL);
    INSERT INTO "audit" VALUES(17,1799999000017,'credential renamed','office',NULL,NULL,NULL,'laptop-7',NULL,NULL,NULL,NULL,NULL,'laptop 7','was laptop');
    INSERT INTO "audit" VALUES(18,1799998999350,'phone credential added','office',1,'Alice',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(19,1799998999600,'asked','office',1,'Alice','s1','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9','laptop 7',NULL);
    INSERT INTO "audit" VALUES(20,1799998999700,'approved','office',1,'Alice','s1','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9','laptop 7',NULL);
    INSERT INTO "audit" VALUES(21,1799998999800,'asked','office',1,'Alice','s2','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9',NULL,NULL);
    INSERT INTO "audit" VALUES(22,1799998999850,'denied','office',1,'Alice','s2','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9',NULL,'DENIED');
    INSERT INTO "audit" VALUES(23,1799998999900,'asked','office',1,'Alice','s3','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9',NULL,NULL);
    INSERT INTO "audit" VALUES(24,1799998999910,'approved','office',1,'Alice','s3','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9',NULL,NULL);
    INSERT INTO "audit" VALUES(25,1799999000025,'walked away','office',1,'Alice','s3','laptop-7','sshd','alice',NULL,'192.0.2.1','192.0.2.9',NULL,NULL);
    INSERT INTO "audit" VALUES(26,1799999000000,'console link made',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
    INSERT INTO "audit" VALUES(27,1799999000000,'console sign-in',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'127.0.0.1',NULL,NULL);
    CREATE TABLE console_link (
      code_hash TEXT PRIMARY KEY,
      expires_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO "console_link" VALUES('k1',1799999600000);
    CREATE TABLE console_session (
      key_hash TEXT PRIMARY KEY,
      form_token TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      used_at INTEGER NOT NULL
    , address TEXT) STRICT;
    INSERT INTO "console_session" VALUES('k2','form',1800042200000,1799999000000,'127.0.0.1');
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO "grdb_migrations" VALUES('first');
    INSERT INTO "grdb_migrations" VALUES('push');
    INSERT INTO "grdb_migrations" VALUES('source blocks');
    INSERT INTO "grdb_migrations" VALUES('host credentials');
    INSERT INTO "grdb_migrations" VALUES('match codes');
    INSERT INTO "grdb_migrations" VALUES('phone credentials');
    INSERT INTO "grdb_migrations" VALUES('held back requests');
    INSERT INTO "grdb_migrations" VALUES('denials');
    INSERT INTO "grdb_migrations" VALUES('wrong codes');
    INSERT INTO "grdb_migrations" VALUES('audit');
    INSERT INTO "grdb_migrations" VALUES('console');
    INSERT INTO "grdb_migrations" VALUES('audit of links, credentials and settings');
    INSERT INTO "grdb_migrations" VALUES('phone pages');
    INSERT INTO "grdb_migrations" VALUES('restored copies');
    INSERT INTO "grdb_migrations" VALUES('users'' ids used once');
    CREATE TABLE greatest_user (id INTEGER NOT NULL) STRICT;
    INSERT INTO "greatest_user" VALUES(3);
    CREATE TABLE host_credential (
      id TEXT PRIMARY KEY,
      application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
      name TEXT NOT NULL,
      host TEXT NOT NULL,
      secret TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER,
      revoked_at INTEGER
    ) STRICT;
    INSERT INTO "host_credential" VALUES('c1','a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1','laptop 7','laptop-7','0123456789abcdef01234567012345ab',1799998999400,1799999000000,NULL);
    INSERT INTO "host_credential" VALUES('c2','a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1','old laptop','laptop-6','0123456789abcdef01234567012345ab',1799998999400,NULL,1799998999500);
    CREATE TABLE link (
      code_hash TEXT PRIMARY KEY,
      user INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,
      display_name TEXT NOT NULL,
      replaces_phone INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      used_at INTEGER
    ) STRICT;
    INSERT INTO "link" VALUES('l1',2,'Bob',0,1799999900000,NULL);
    INSERT INTO "link" VALUES('l2',1,'Alice',1,1799999100000,1799998999300);
    CREATE TABLE phone (
      id TEXT PRIMARY KEY,
      user INTEGER REFERENCES user ON DELETE SET NULL,
      public_key TEXT NOT NULL,
      display_name TEXT NOT NULL,
      presence TEXT NOT NULL,
      registered_at INTEGER NOT NULL,
      cut_off_at INTEGER
    , heard_at INTEGER, is_silent INTEGER NOT NULL DEFAULT 0, has_page INTEGER NOT NULL DEFAULT 0) STRICT;
    INSERT INTO "phone" VALUES('p0',1,'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8V/vJ4DvAOQ2+x6TdDzZ8kyYbFNreA5LVy6aHNl8ImpFQ49RPXUbGlXZZS6dwVEokapi5LwjhwX0sGEpafSmHA==','Alice old','present',1799998999100,1799998999200,NULL,0,0);
    INSERT INTO "phone" VALUES('p1',1,'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8V/vJ4DvAOQ2+x6TdDzZ8kyYbFNreA5LVy6aHNl8ImpFQ49RPXUbGlXZZS6dwVEokapi5LwjhwX0sGEpafSmHA==','Alice','present',1799998999300,NULL,1799999000000,0,1);
    CREATE TABLE phone_credential (
      phone TEXT PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
      credential TEXT NOT NULL,
      public_key TEXT NOT NULL,
      counter INTEGER NOT NULL,
      added_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO "phone_credential" VALUES('p1','Y3JlZA','MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8V/vJ4DvAOQ2+x6TdDzZ8kyYbFNreA5LVy6aHNl8ImpFQ49RPXUbGlXZZS6dwVEokapi5LwjhwX0sGEpafSmHA==',3,1799998999350);
    CREATE TABLE push_key (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      private_key TEXT NOT NULL
    ) STRICT;
    INSERT INTO "push_key" VALUES(1,'MHcCAQEEIPo/S+sm9Nk6DqI/05Uj1z9YQmQiP8Uo0NO580umgd6SoAoGCCqGSM49AwEHoUQDQgAEkOXrS2j047gMcyKvWhlNBguG42OOezAamxZoX7KbeZu+DKh81yKfDhLDTqtkxVzEM1DNPBYUYNH4qJzhkKPtUQ==');
    CREATE TABLE push_subscription (
      phone TEXT PRIMARY KEY REFERENCES phone ON DELETE CASCADE,
      endpoint TEXT NOT NULL,
      p256dh TEXT NOT NULL,
      auth TEXT NOT NULL
    ) STRICT;
    INSERT INTO "push_subscription" VALUES('p1','https://push.example/1','BKey','auth');
    CREATE TABLE restored_copy (nonces_spent_until INTEGER) STRICT;
    INSERT INTO "restored_copy" VALUES(1799998900000);
    CREATE TABLE service_fact (
      name TEXT PRIMARY KEY,
      value TEXT NOT NULL
    ) STRICT;
    INSERT INTO "service_fact" VALUES('address','https://127.0.0.1:8443');
    CREATE TABLE session (
      id TEXT PRIMARY KEY,
      token TEXT NOT NULL UNIQUE,
      secret TEXT NOT NULL,
      application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
      user INTEGER REFERENCES user ON DELETE SET NULL,
      source TEXT NOT NULL,
      context TEXT NOT NULL,
      answer_nonce TEXT NOT NULL,
      status TEXT NOT NULL,
      ending TEXT,
      started_at INTEGER NOT NULL,
      duration INTEGER NOT NULL,
      approved_at INTEGER,
      collected_at INTEGER,
      ended_at INTEGER,
      delivered TEXT NOT NULL,
      delivered_at INTEGER NOT NULL
    , credential TEXT REFERENCES host_credential ON DELETE SET NULL, reply_secret TEXT, match_code TEXT, method TEXT NOT NULL DEFAULT 'acceptance', held_back INTEGER NOT NULL DEFAULT 0, address TEXT, answer_time INTEGER NOT NULL DEFAULT 60) STRICT;
    INSERT INTO "session" VALUES('s1','t1','0123456789abcdef01234567012345ab','a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1',1,'["laptop-7","sshd","192.0.2.1"]','{"host": "laptop-7", "service": "sshd", "user": "alice", "remote_host": "192.0.2.1"}','n','active',NULL,1799998999600,43200,1799998999700,1799998999710,NULL,'active',1799998999710,'c1','0123456789abcdef01234567012345ab','47','acceptance',1,'192.0.2.9',60);
    INSERT INTO "session" VALUES('s2','t2','0123456789abcdef01234567012345ab','a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1',1,'["laptop-7","sshd","192.0.2.1"]','{"host": "laptop-7", "service": "sshd", "user": "alice", "remote_host": "192.0.2.1"}','n','cancelled','DENIED',1799998999800,43200,NULL,NULL,1799998999850,'cancelled',1799998999860,NULL,'0123456789abcdef01234567012345ab','11','acceptance',1,'192.0.2.9',60);
    INSERT INTO "session" VALUES('s3','t3','0123456789abcdef01234567012345ab','a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1',1,'["laptop-7","sshd","192.0.2.1"]','{"host": "laptop-7", "service": "sshd", "user": "alice", "remote_host": "192.0.2.1"}','n','walkaway',NULL,1799998999900,43200,1799998999910,1799998999910,NULL,'pending',1799998999900,NULL,'0123456789abcdef01234567012345ab',NULL,'acceptance',1,'192.0.2.9',60);
    CREATE TABLE source_block (
      user INTEGER NOT NULL REFERENCES user ON DELETE CASCADE,
      source TEXT NOT NULL,
      until INTEGER NOT NULL,
      PRIMARY KEY (user, source)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO "source_block" VALUES(1,'["web",null,null]',1799999900000);
    CREATE TABLE spent_nonce (
      client TEXT NOT NULL,
      nonce TEXT NOT NULL,
      forget_at INTEGER NOT NULL,
      PRIMARY KEY (client, nonce)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO "spent_nonce" VALUES('application:a','7',1799999600000);
    CREATE TABLE user (
      id INTEGER PRIMARY KEY,
      application TEXT NOT NULL REFERENCES application ON DELETE CASCADE,
      name TEXT NOT NULL, last_used_at INTEGER,
      UNIQUE (application, name)
    ) STRICT;
    INSERT INTO "user" VALUES(1,'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1','alice',1799998999910);
    INSERT INTO "user" VALUES(2,'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1','bob',NULL);
    CREATE UNIQUE INDEX one_live_phone_a_user ON phone (user) WHERE cut_off_at IS NULL;
    CREATE INDEX link_user ON link (user);
    CREATE INDEX live_session ON session (user) WHERE ended_at IS NULL;
    CREATE INDEX ended_session ON session (ended_at) WHERE ended_at IS NOT NULL;
    CREATE INDEX spent_nonce_age ON spent_nonce (forget_at);
    CREATE UNIQUE INDEX one_usable_credential_a_name ON host_credential (application, name) WHERE revoked_at IS NULL;
    CREATE INDEX live_session_of_credential ON session (credential) WHERE ended_at IS NULL;
    CREATE INDEX answer_age ON answer (answered_at);
    CREATE INDEX denied_session ON session (user, ended_at) WHERE ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE');
    CREATE INDEX audit_age ON audit (at);
    CREATE TRIGGER audit_asked AFTER INSERT ON session BEGIN
      INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
      credential, reason)
      VALUES (NEW.started_at, 'asked', (SELECT name FROM application WHERE id = NEW.application), NEW.user,
        (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
        json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
        json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
        json_extract(NEW.context, '$.remote_host'), NEW.address,
        (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.ending);
    END;
    CREATE TRIGGER audit_session AFTER UPDATE OF status ON session
    WHEN NEW.status IS NOT OLD.status AND NEW.status NOT IN ('pending', 'identifying') BEGIN
      INSERT INTO audit (at, event, application, user, phone, session, host, service, account, tty, remote_host, address,
      credential, reason)
      VALUES (coalesce(NEW.ended_at, iif(OLD.status = 'walkaway' OR NEW.status = 'walkaway', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), NEW.approved_at), CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)), CASE
      WHEN NEW.status = 'active' AND OLD.status = 'walkaway' THEN 'back'
      WHEN NEW.status = 'active' THEN 'approved'
      WHEN NEW.status = 'walkaway' THEN 'walked away'
      WHEN NEW.ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE') THEN 'denied'
      ELSE 'ended'
    END, (SELECT name FROM application WHERE id = NEW.application), NEW.user,
        (SELECT display_name FROM phone WHERE user = NEW.user AND cut_off_at IS NULL), NEW.id,
        json_extract(NEW.context, '$.host'), json_extract(NEW.context, '$.service'),
        json_extract(NEW.context, '$.user'), json_extract(NEW.context, '$.tty'),
        json_extract(NEW.context, '$.remote_host'), NEW.address,
        (SELECT name FROM host_credential WHERE id = NEW.credential), NEW.ending);
    END;
    CREATE TRIGGER audit_phone AFTER INSERT ON phone BEGIN
      INSERT INTO audit (at, event, application, user, phone)
      VALUES (NEW.registered_at, 'phone registered', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user, NEW.display_name);
    END;
    CREATE TRIGGER audit_phone_cut_off AFTER UPDATE OF cut_off_at ON phone
    WHEN OLD.cut_off_at IS NULL AND NEW.cut_off_at IS NOT NULL BEGIN
      INSERT INTO audit (at, event, application, user, phone)
      VALUES (NEW.cut_off_at, 'phone cut off', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user, NEW.display_name);
    END;
    CREATE TRIGGER audit_user AFTER INSERT ON user BEGIN
      INSERT INTO audit (at, event, application, user)
      VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'user added', (SELECT name FROM application WHERE id = NEW.application), NEW.id);
    END;
    CREATE TRIGGER audit_user_deleted AFTER DELETE ON user BEGIN
      INSERT INTO audit (at, event, application, user)
      VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'user deleted', (SELECT name FROM application WHERE id = OLD.application), OLD.id);
    END;
    CREATE TRIGGER audit_application AFTER INSERT ON application BEGIN
      INSERT INTO audit (at, event, application) VALUES (NEW.created_at, 'application made', NEW.name);
    END;
    CREATE TRIGGER audit_secret AFTER UPDATE OF secret ON application WHEN NEW.secret IS NOT OLD.secret BEGIN
      INSERT INTO audit (at, event, application) VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'application secret renewed', NEW.name);
    END;
    CREATE TRIGGER audit_credential AFTER INSERT ON host_credential BEGIN
      INSERT INTO audit (at, event, application, host, credential)
      VALUES (NEW.created_at, 'credential made', (SELECT name FROM application WHERE id = NEW.application), NEW.host, NEW.name);
    END;
    CREATE TRIGGER audit_credential_revoked AFTER UPDATE OF revoked_at ON host_credential
    WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL BEGIN
      INSERT INTO audit (at, event, application, host, credential)
      VALUES (NEW.revoked_at, 'credential revoked', (SELECT name FROM application WHERE id = NEW.application), NEW.host, NEW.name);
    END;
    CREATE TRIGGER user_last_use AFTER UPDATE OF approved_at ON session
    WHEN NEW.approved_at IS NOT OLD.approved_at BEGIN
      UPDATE user SET last_used_at = NEW.approved_at WHERE id = NEW.user;
    END;
    CREATE TRIGGER audit_link AFTER INSERT ON link BEGIN
      INSERT INTO audit (at, event, application, user, phone, reason)
      VALUES (NEW.expires_at - 900000, 'registration link made', (SELECT application.name FROM user JOIN application ON application.id = user.application WHERE user.id = NEW.user), NEW.user,
        NEW.display_name, iif(NEW.replaces_phone, 'PHONE_LOST', NULL));
    END;
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
      INSERT INTO audit (at, event) VALUES (NEW.expires_at - 600000, 'console link made');
    END;
    CREATE TRIGGER audit_console_session AFTER INSERT ON console_session BEGIN
      INSERT INTO audit (at, event, address) VALUES (NEW.used_at, 'console sign-in', NEW.address);
    END;
    CREATE TRIGGER audit_credential_renamed AFTER UPDATE OF name ON host_credential WHEN NEW.name IS NOT OLD.name BEGIN
      INSERT INTO audit (at, event, application, host, credential, reason)
      VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'credential renamed', (SELECT name FROM application WHERE id = NEW.application), NEW.host, NEW.name, 'was ' || OLD.name);
    END;
    CREATE TRIGGER audit_settings
    AFTER UPDATE OF disabled_at, walkaway, silence_leaves, match_code, answer_time, greatest_duration, hook ON application
    WHEN NEW.disabled_at IS NOT OLD.disabled_at OR NEW.walkaway IS NOT OLD.walkaway OR NEW.silence_leaves IS NOT OLD.silence_leaves OR NEW.match_code IS NOT OLD.match_code OR NEW.answer_time IS NOT OLD.answer_time OR NEW.greatest_duration IS NOT OLD.greatest_duration OR NEW.hook IS NOT OLD.hook BEGIN
      INSERT INTO audit (at, event, application, reason)
      VALUES (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'settings changed', NEW.name, trim(iif(NEW.disabled_at IS OLD.disabled_at, '', ' ' || iif(NEW.disabled_at IS NULL, 'enabled', 'disabled')) || iif(NEW.walkaway IS OLD.walkaway, '', ' ' || 'walkaway=' || iif(NEW.walkaway, 'on', 'off')) || iif(NEW.silence_leaves IS OLD.silence_leaves, '', ' ' || 'silence=' || iif(NEW.silence_leaves, 'on', 'off')) || iif(NEW.match_code IS OLD.match_code, '', ' ' || 'match-code=' || CASE NEW.match_code WHEN 0 THEN 'off' WHEN 1 THEN 'on' ELSE 'required' END) || iif(NEW.answer_time IS OLD.answer_time, '', ' ' || 'answer-time=' || NEW.answer_time) || iif(NEW.greatest_duration IS OLD.greatest_duration, '', ' ' || 'greatest-duration=' || NEW.greatest_duration) || iif(NEW.hook IS OLD.hook, '', ' ' || 'program=' || NEW.hook)));
    END;
    CREATE TRIGGER greatest_user_kept AFTER INSERT ON user BEGIN
      UPDATE greatest_user SET id = max(id, NEW.id);
    END;
    """#
}
