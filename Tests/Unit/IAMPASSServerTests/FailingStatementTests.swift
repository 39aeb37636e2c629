import DeviceProtocol
import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// SQLite refuses the first, the second, … change of a row. An operation that meets the refusal throws, and leaves every
/// table as it was: its sessions, its audit and all else.
@Suite struct FailingStatementTests {
  /// An operation that changes several rows, and what must be there for it.
  struct Deed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let prepare: @Sendable (StorageFixture) async throws -> @Sendable () async throws -> Void

    init(
      _ name: String, prepare: @escaping @Sendable (StorageFixture) async throws -> @Sendable () async throws -> Void
    ) {
      testDescription = name
      self.prepare = prepare
    }
  }

  static let deeds = [
    Deed("a start after the computer's restart") { room in
      let phone = try await room.phone()
      let credential = try await room.storage.createHostCredential(
        named: "a", host: "h", of: room.application.id, at: room.now)
      let earlier = try await room.started(room.ask(by: credential, boot: SignedBoot(id: "first", signedAt: 1)))
      _ = try await room.answer(earlier.id, .approve, by: phone).get()
      return { _ = try await room.start(room.ask(by: credential, boot: SignedBoot(id: "second", signedAt: 2))) }
    },
    Deed("an answer") { room in
      let phone = try await room.phone()
      let session = try await room.started(room.ask())
      return { _ = try await room.answer(session.id, .notMe, by: phone).get() }
    },
    Deed("a lifted block") { room in
      let phone = try await room.phone()
      let session = try await room.started(room.ask())
      _ = try await room.answer(session.id, .notMe, by: phone).get()
      return { _ = try await room.storage.liftBlocks(of: phone.user, of: room.application.id, at: room.now) }
    },
    Deed("a leave") { room in
      let phone = try await room.phone()
      for host in ["web-1", "web-2"] { _ = try await room.approved(by: phone, host: host) }
      return { _ = try await room.storage.setPresence(.away, of: phone, at: room.now) }
    },
    Deed("an end by the phone") { room in
      let phone = try await room.phone()
      var ids: Set<String> = []
      for host in ["web-1", "web-2"] { ids.insert(try await room.approved(by: phone, host: host).id) }
      return { [ids] in _ = try await room.storage.endSessions(ids, by: phone, at: room.now) }
    },
    Deed("a phone that gives its user up") { room in
      let phone = try await room.phone()
      _ = try await room.started(room.ask())
      _ = try await room.makeLink()
      return { _ = try await room.storage.unregister(phone, at: room.now) }
    },
    Deed("a lost phone") { room in
      let phone = try await room.phone()
      _ = try await room.approved(by: phone)
      return { _ = try await room.makeLink(loss: .endsSessions(but: [])) }
    },
    Deed("a registration in another phone's place") { room in
      _ = try await room.phone()
      let code = try await room.makeLink(loss: .keepsSessions).code
      return {
        _ = try await room.storage.register(
          StorageFixture.newPhone(), by: code, at: room.now, deciding: StorageFixture.unusedLink)
      }
    },
    Deed("new users") { room in { _ = try await room.storage.addUsers(["a", "b"], to: room.application.id) } },
    Deed("new users with names") { room in
      {
        _ = try await room.storage.addUsers(
          ["a", "b"], called: [.init(user: "a", text: "A"), .init(user: "b", text: "B")], to: room.application.id)
      }
    },
    Deed("deleted users") { room in
      for user in ["a", "b"] { _ = try await room.approved(by: room.phone(of: user), for: user) }
      return { _ = try await room.storage.deleteUsers(["a", "b"], of: room.application.id, at: room.now) }
    },
    Deed("a browser that enters the console") { room in
      let code = try await room.storage.createConsoleLink(at: room.now)
      return { _ = try await room.storage.enterConsole(by: code, key: Secret("key"), from: .unknown, at: room.now) }
    },
    Deed("a new administrator") { room in
      { _ = try await room.storage.addAdministrator("ada", role: .admin, at: room.now) }
    },
    Deed("a removed administrator") { room in
      _ = try await room.storage.addAdministrator("ada", role: .admin, at: room.now)
      return { _ = try await room.storage.removeAdministrator("ada", keepsOne: false, at: room.now) }
    },
    Deed("a browser that enters the console by a phone") { room in
      let key = try await room.approvedAsk(of: "ada")
      return { _ = try await room.storage.enterConsole(asked: key, key: Secret("key"), from: .unknown, at: room.now) }
    },
    Deed("a new secret") { room in
      _ = try await room.phone()
      _ = try await room.started(room.ask())
      return { _ = try await room.storage.renewSecret(of: room.application.id, to: Secret("new"), at: room.now) }
    },
    Deed("a disabled application") { room in
      _ = try await room.phone()
      _ = try await room.started(room.ask())
      return { _ = try await room.storage.setDisabled(true, of: room.application.id, at: room.now) }
    },
    Deed("a revoked credential") { room in
      _ = try await room.phone()
      let credential = try await room.storage.createHostCredential(
        named: "a", host: "h", of: room.application.id, at: room.now)
      _ = try await room.started(room.ask(by: credential))
      return { _ = try await room.storage.revokeCredential(credential.id, of: room.application.id, at: room.now) }
    },
    Deed("what time has ended") { room in
      _ = try await room.phone()
      for host in ["web-1", "web-2"] { _ = try await room.started(room.ask(host: host)) }
      room.clock.advance(seconds: SessionLifecycle.answerTime)
      return { _ = try await room.endOverdue() }
    },
    Deed("nonces that are forgotten") { room in
      let nonce = SignedNonce(owner: "host:a", value: "7", forgetAt: room.now)
      _ = try await room.storage.useNonce(nonce, at: room.now)
      room.clock.advance(seconds: 2 * 86_400)
      return { _ = try await room.storage.forgetOld(.nonces, at: room.now, wall: room.clock.now) }
    },
    Deed("sessions that are forgotten") { room in
      let phone = try await room.phone()
      for host in ["web-1", "web-2"] {
        _ = try await room.storage.logOut(room.approved(by: phone, host: host).id, at: room.now)
      }
      room.clock.advance(seconds: 500 * 86_400)
      return { _ = try await room.storage.forgetOld(.endedSessions, at: room.now, wall: room.clock.now) }
    },
  ]

  @Test(arguments: deeds) func leavesEveryTableOfSQLiteAsItWas(_ deed: Deed) async throws {
    let room = try await StorageFixture(.sqlite)
    let act = try await deed.prepare(room)
    let storage = try #require(room.storage as? SQLiteStorage)
    try await storage.write(Refusals.install)
    let before = try await storage.read(Refusals.everything)
    var refused = 0
    while true {
      try await storage.write { [refused] in try Refusals.set(at: refused + 1, in: $0) }
      do {
        try await act()
        break
      } catch let error as DatabaseError {
        #expect(error.message == Refusals.message)
      }
      refused += 1
      #expect(try await storage.read(Refusals.everything) == before)
    }
    // With fewer there would be nothing half done.
    #expect(refused >= 2)
  }
}

/// Triggers that refuse one change.
private enum Refusals {
  static let message = "refused by the test"

  /// Counts each change of a row, whoever makes it.
  @Sendable static func install(in db: Database) throws {
    try db.execute(sql: "CREATE TABLE countdown (left INTEGER NOT NULL); INSERT INTO countdown VALUES (0)")
    for table in try tables(in: db) {
      for change in ["INSERT", "UPDATE", "DELETE"] {
        try db.execute(
          sql: """
            CREATE TRIGGER refuse_\(change)_\(table) BEFORE \(change) ON \(table) BEGIN
              UPDATE countdown SET left = left - 1;
              SELECT RAISE(ABORT, '\(message)') FROM countdown WHERE left = 0;
            END
            """)
      }
    }
  }

  static func set(at number: Int, in db: Database) throws {
    try db.execute(sql: "UPDATE countdown SET left = ?", arguments: [number])
  }

  private static func tables(in db: Database) throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT name FROM sqlite_master
        WHERE type = 'table' AND name NOT IN ('countdown', 'grdb_migrations') AND name NOT LIKE 'sqlite_%'
        ORDER BY name
        """)
  }

  /// Every row of every table.
  @Sendable static func everything(in db: Database) throws -> [String] {
    try tables(in: db).flatMap { table in
      try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0.description)" }.sorted()
    }
  }
}
