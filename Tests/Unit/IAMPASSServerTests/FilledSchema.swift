import GRDB
import PostgreSQLLink

@testable import IAMPASSServer

/// The tables of a company, filled inside the database by the same statements on both engines.
enum FilledSchema {
  /// Enough that a hundred looks by an index cost less than all rows, whose pages are few: that is what a planner compares.
  static let users = 40_000
  static let sessions = 200_000
  /// Answers, and as many entries of the audit.
  static let entries = 500_000
  /// Rows that come and go with requests.
  private static let passing = 200_000

  /// 2027-01-15, after all that is here.
  private static let end = 1_800_000_000_000
  private static let key = "'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEq7mVxk2n0b9Yc1tq8Jw3Hf5Zr6Lp4Ns2Du7Gx9Ve1Wb8Kc3Qm5'"
  private static let digest = "'6b1e0c9a4f7d2835e6b1e0c9a4f7d2835e6b1e0c9a4f7d2835e6b1e0c9a4f7d2'"

  /// Tables that PostgreSQL's database has alone.
  static let onlyPostgreSQL: Set<String> = ["committed_write", "failure_count", "poll_pace"]

  /// What fills a table, in PostgreSQL's words.
  struct Filling {
    let table: String
    let sql: String
  }

  static let fillings: [Filling] = [applications, people, computers, requests, joinings, lists, counters].flatMap { $0 }

  /// An identifier whose order has nothing to do with its number. Each kind has a letter.
  private static func id(_ kind: String, _ number: String) -> String {
    "'\(kind)-5f0c9d1e7b3a4c62-' || (1000003 + ((\(number)) * 7919) % 1000003)"
  }

  /// A time for each row, in their order.
  private static func time(_ count: Int, every step: Int) -> String { "(\(end - count * step) + n * \(step))" }

  private static func rows(
    _ table: String, _ count: Int, _ values: KeyValuePairs<String, String>
  ) -> Filling {
    let columns = values.map(\.key).joined(separator: ", ")
    let expressions = values.map(\.value).joined(separator: ", ")
    let sql = """
      INSERT INTO \(table) (\(columns))
      WITH RECURSIVE counted(n) AS (SELECT 1::bigint UNION ALL SELECT n + 1 FROM counted WHERE n < \(count))
      SELECT \(expressions) FROM counted
      """
    return Filling(table: table, sql: sql)
  }

  private static let applications: [Filling] = [
    rows(
      "application", 2,
      [
        "id": "'a' || (n % 2)", "name": "'shop ' || (n % 2)", "secret": key, "created_at": "n",
        "silence_leaves": "n % 2",
      ]),
    rows("administrator", 5, ["name": "'person' || (1000000 + n)", "role": "'admin'", "changed_at": "n"]),
  ]

  /// A fifth of the users has a second phone in the place of one that was cut off.
  private static let people: [Filling] = [
    rows(
      "app_user", users,
      [
        "id": "n", "application": "'a' || (n % 2)", "name": "'user-5f0c9d1e7b3a4c62a1b2c3d4-' || (1000000 + n)",
        "last_used_at": time(users, every: 300_000), "told_name": "'person' || (1000000 + n)",
      ]),
    rows(
      "phone", 48_000,
      [
        "id": id("p", "n"), "user_id": "(n - 1) % \(users) + 1", "public_key": key, "display_name": "'Phone of ' || n",
        "presence": "'present'", "registered_at": time(48_000, every: 300_000),
        "cut_off_at": "CASE WHEN n <= 8000 THEN \(end) - n * 60000 END",
        "heard_at": "CASE WHEN n % 2 = 0 THEN \(end) - n END", "is_silent": "CASE WHEN n % 50 = 0 THEN 1 ELSE 0 END",
      ]),
    rows(
      "link", 80_000,
      [
        "code_hash": "\(digest) || n", "user_id": "n % \(users) + 1", "display_name": "'Phone of ' || n",
        "replaces_phone": "0", "expires_at": time(80_000, every: 300_000),
        "used_at": "CASE WHEN n % 20 > 0 THEN \(end) - n END",
      ]),
    rows(
      "phone_credential", users,
      [
        "phone": id("p", "n + 8000"), "credential": key, "public_key": key, "counter": "n", "added_at": "n",
      ]),
    rows(
      "push_subscription", users,
      [
        "phone": id("p", "n + 8000"), "endpoint": "'https://push.example.org/' || \(key)", "p256dh": key, "auth": key,
      ]),
    rows("app_token", users, ["phone": id("p", "n + 8000"), "service": "'apns'", "token": key, "told_at": "n"]),
    rows("training", users, ["phone": id("p", "n + 8000"), "method": "'denial'", "asked_at": "n"]),
    rows("face", users, ["phone": id("p", "n + 8000"), "is_offered": "n % 2", "changed_at": "n"]),
    rows(
      "code_use", 80_000,
      [
        "user_id": "n % \(users) + 1", "use": "'use ' || n", "way": "'code'", "credential": id("c", "n % \(users) + 1"),
        "context": "'{\"host\":\"web-1\"}'", "used_at": time(80_000, every: 300_000),
        "reported_at": time(80_000, every: 300_000),
      ]),
    rows(
      "source_block", 80_000,
      [
        "user_id": "n % \(users) + 1", "source": "'203.0.113.7 of a computer with a long name ' || n",
        "until": time(80_000, every: 300_000),
      ]),
  ]

  /// A tenth is revoked, and one in a thousand was copied.
  private static let computers: [Filling] = [
    rows(
      "host_credential", users,
      [
        "id": id("c", "n"), "application": "'a' || (n % 2)", "name": "'desk-' || (1000000 + n)",
        "host": "'desk-' || n || '.example.org'", "secret": key, "created_at": "n",
        "last_used_at": time(users, every: 600_000),
        "revoked_at": "CASE WHEN n % 10 = 0 THEN \(time(users, every: 600_000)) END",
        "computer_group": "'group ' || (n % 100)", "used_day": "\(time(users, every: 600_000)) / 86400000",
      ]),
    rows(
      "host_boot", 80_000, ["credential": id("c", "n % \(users) + 1"), "boot_id": "'boot ' || n", "signed_at": "n"]),
    rows(
      "host_mark", users,
      [
        "credential": id("c", "n"), "mark": digest, "seen_at": "n", "are_both_used": "0",
        "forked_at": "CASE WHEN n % 1000 = 0 THEN n END",
      ]),
    rows(
      "host_report", users,
      [
        "credential": id("c", "n"), "software": "'{\"module\":\"0.30.0\",\"system\":\"Debian GNU/Linux 13\"}'",
        "list_version": "n",
      ]),
  ]

  /// Five sessions of a hundred have not ended, and one in four hundred waits for its answer.
  private static let requests: [Filling] = [
    rows(
      "session", sessions,
      [
        "id": id("s", "n"), "token": id("t", "n"), "secret": "'secret'",
        "application": "'a' || (((n / 7) % \(users) + 1) % 2)", "user_id": "(n / 7) % \(users) + 1",
        "source": "'203.0.113.7'",
        "context": "'{\"host\":\"web-1\",\"user\":\"alice\"}'", "answer_nonce": "'nonce'",
        "status": "CASE WHEN n % 20 = 0 THEN 'active' ELSE 'closed' END",
        "ending": """
        CASE WHEN n % 20 = 0 THEN cast(NULL AS text) WHEN n % 20 = 18 THEN 'NOT_ANSWERED' WHEN n % 20 = 19 THEN 'DENIED'
        ELSE 'LOGGED_OUT' END
        """,
        "started_at": time(sessions, every: 60_000), "duration": "3600",
        "approved_at": """
        CASE WHEN n % 400 = 0 OR n % 20 IN (18, 19) THEN cast(NULL AS bigint) ELSE \(time(sessions, every: 60_000)) + 5000 END
        """,
        "collected_at": "CASE WHEN n % 20 < 18 AND n % 400 > 0 THEN \(time(sessions, every: 60_000)) + 6000 END",
        "ended_at": "CASE WHEN n % 20 > 0 THEN \(time(sessions, every: 60_000)) + 3600000 END", "delivered": "''",
        "delivered_at": "n", "credential": "CASE WHEN n % 10 <> 3 THEN \(id("c", "(n / 3) % 30000 + 1")) END",
        "reply_secret": "'secret'", "match_code": "CASE WHEN n % 3 = 0 THEN '47' END",
        "held_back": "CASE WHEN n % 50 = 1 THEN 1 ELSE 0 END", "boot_id": "'boot ' || n",
        "asked": "CASE WHEN n % 4 = 0 THEN 'phones' END", "answered_by": id("p", "n % 48000 + 1"),
        "locum_phone": "CASE WHEN n % 100 = 7 THEN \(id("p", "n % 48000 + 1")) END",
      ]),
    rows(
      "answer", entries,
      [
        "session": id("s", "n"), "phone": id("p", "n % 48000 + 1"), "public_key": "'key'", "statement": "'{}'",
        "signature": "'signature'", "context": "'{}'", "answered_at": time(entries, every: 60_000),
      ]),
    rows(
      "audit", entries,
      [
        "at": time(entries, every: 60_000),
        "event": """
        CASE WHEN n % 1000 = 0 THEN 'user listed' WHEN n % 1000 = 1 THEN 'phone registered' WHEN n % 1000 = 2
        THEN 'locum allowed' WHEN n % 100 < 6 THEN 'denied' WHEN n % 100 < 50 THEN 'approved' ELSE 'ended' END
        """,
        "application": "'shop ' || (((n / 7) % \(users) + 1) % 2)", "user_id": "(n / 7) % \(users) + 1",
        "session": id("s", "n % \(sessions) + 1"), "host": "'web-1'",
        "reason": "CASE WHEN n % 100 > 97 THEN 'NOT_ANSWERED' END", "noted_at": time(entries, every: 60_000),
        "credential_id": "CASE WHEN n % 10 <> 3 THEN \(id("c", "(n / 3) % 30000 + 1")) END",
      ]),
    rows(
      "spent_nonce", passing,
      [
        "client": id("c", "n % \(users) + 1"), "nonce": id("n", "n"), "forget_at": time(passing, every: 2),
        "spent_at": time(passing, every: 2),
      ]),
  ]

  /// Half of the codes were used, by two computers each. One in two hundred waits.
  private static let joinings: [Filling] = [
    rows(
      "join_code", users,
      [
        "id": id("j", "n"), "application": "'a' || (n % 2)", "digest": "\(digest) || n", "uses": "10",
        "is_unattended": "0", "created_at": time(users, every: 600_000), "expires_at": time(users, every: 600_000),
        "revoked_at": "CASE WHEN n % 10 = 0 THEN n END", "computer_group": "'group ' || (n % 100)", "used": "n % 10",
      ]),
    rows(
      "joining", users,
      [
        "id": id("g", "n"), "code": id("j", "n % 20000 + 1"), "name": "'desk-' || (1000000 + n)", "mark": digest,
        "secret_digest": digest,
        "state": "CASE WHEN n % 200 = 0 THEN 'waiting' WHEN n % 10 = 1 THEN 'refused' ELSE 'joined' END",
        "address": "'203.0.113.7'", "asked_at": time(users, every: 600_000),
        "credential": "CASE WHEN n % 200 > 0 AND n % 10 <> 1 THEN \(id("c", "n")) END",
      ]),
    rows("join_ask", users, ["session": id("s", "n"), "joining": id("g", "n")]),
  ]

  private static let lists: [Filling] = [
    rows("user_list", 2, ["application": "'a' || (n % 2)", "version": "\(users)", "users": "\(users / 2)"]),
    rows(
      "listed_user", users,
      [
        "application": "'a' || (n % 2)", "name": "'person' || (1000000 + n)", "user_id": "n",
        "groups": "'staff group-' || (n % 100)", "version": "n", "changed_at": time(users, every: 600_000),
        "told_groups": "' staff group-' || (n % 100) || ' '",
      ]),
    rows("user_group", 4_000, ["application": "'a' || (n % 2)", "name": "'group ' || (n / 2)", "users": "20"]),
    rows(
      "group_member", users,
      [
        "application": "'a' || (n % 2)", "group_name": "'group ' || (n % 100)", "name": "'person' || (1000000 + n)",
        "user_id": "n",
      ]),
    rows(
      "signed_line", users,
      [
        "application": "'a' || (n % 2)", "name": "'person' || (1000000 + n)", "first_serial": "n % 50 + 1",
        "last_serial": "CASE WHEN n % 40 = 0 THEN n % 50 + 2 END", "groups": "'staff group-' || (n % 100)",
        "line": "\(digest) || n",
      ]),
    rows(
      "signed_member", users,
      [
        "application": "'a' || (n % 2)", "group_name": "'group ' || (n % 100)", "name": "'person' || (1000000 + n)",
        "first_serial": "n % 50 + 1",
      ]),
  ]

  private static let counters: [Filling] = [
    rows("committed_write", passing, ["id": id("w", "n"), "written_at": time(passing, every: 100)]),
    rows("failure_count", passing, ["key": id("f", "n"), "failures": "n % 5", "until": time(passing, every: 100)]),
    rows(
      "poll_pace", passing,
      [
        "request": id("s", "n"), "asked_at": time(passing, every: 100), "step": "1000", "is_too_fast": "0",
      ]),
  ]

  /// SQLite's file in this folder. It has no triggers: they count for each row.
  static func sqlite(in folder: String) async throws -> DatabaseQueue {
    try EmptyDatabase.put(in: folder)
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let database = try DatabaseQueue(path: folder + "/" + SQLiteStorage.fileName, configuration: configuration)
    try await database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      for trigger in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
        try db.execute(sql: "DROP TRIGGER \"\(trigger)\"")
      }
      for filling in fillings where !onlyPostgreSQL.contains(filling.table) {
        try db.execute(sql: SQLiteDialect.translated(filling.sql))
      }
    }
    return database
  }

  /// A connection to PostgreSQL's tables in the room. Triggers and references are not looked after there.
  static func postgreSQL(of room: StorageFixture) throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(to: PostgreSQLAddress(validating: StorageEngine.url(of: room.folder)))
    connection.patience = .seconds(600)
    try connection.run(
      script: """
        SET statement_timeout = 0;
        SET synchronous_commit = off;
        SET session_replication_role = replica;
        CREATE FUNCTION fill(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
          done bigint;
        BEGIN
          EXECUTE statement;
          GET DIAGNOSTICS done = ROW_COUNT;
          RETURN done;
        END $$
        """)
    for filling in fillings { try connection.run([PostgreSQLCall("SELECT fill($1) AS done", .text(filling.sql))]) }
    // What autovacuum does in a company's database.
    try connection.run(script: "VACUUM (ANALYZE)")
    return connection
  }
}
