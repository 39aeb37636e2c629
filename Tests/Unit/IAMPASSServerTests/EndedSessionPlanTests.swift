import GRDB
import Testing

@testable import IAMPASSServer

/// Sessions are kept long after their end: a user has thousands, and a computer with many users more.
@Suite struct EndedSessionPlanTests {
  /// Each start of a request asks for its user's sessions, and so does a phone's page.
  @Test func sqliteReadsNoEndedSessionsForThoseThatHaveNotEnded() async throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let statements = try StatementPlanTests.allStatements().filter {
      $0.contains("FROM session") && ($0.contains("ended_at IS NULL") || $0.contains("locum_phone IS NOT NULL"))
    }
    #expect(statements.count >= 10)
    let complaints = try await database.read { db in
      try statements.flatMap { statement in
        try StatementPlanTests.steps(of: statement, db)
          .filter { $0.contains(#/ session .*INDEX (session_user|session_of_credential)\b/#) }
          .map { "\($0): \(statement)" }
      }
    }
    #expect(complaints == [])
  }

  /// They read the same rows of either index.
  @Test(arguments: StorageEngine.allCases)
  func onlySessionsThatHaveNotEndedAreFound(_ engine: StorageEngine) async throws {
    let room = try await StorageFixture(engine)
    let phone = try await room.phone()
    let desk = try await room.storage.createHostCredential(
      named: "desk", host: "desk", of: room.application.id, at: room.now)
    for host in ["web-1", "web-2"] {
      let session = try await room.started(room.ask(host: host, by: desk))
      _ = try await room.answer(session.id, .approve, by: phone).get()
      if host == "web-1" { _ = try await room.storage.logOut(session.id, at: room.now) }
    }
    let open = try await room.started(room.ask(host: "web-3", by: desk))
    #expect(try await room.storage.computers(ComputerSearch(), at: room.now).map(\.liveSessions) == [1])
    let page = try #require(try await room.storage.user(phone.user, of: room.application.id))
    #expect(page.sessions.map(\.session.context.host) == ["web-2"])
    let closed = try await room.storage.revokeCredential(desk.id, of: room.application.id, at: room.now)
    #expect(closed?.map(\.id) == [open.id])
    let ended = try await room.storage.deleteUsers(["alice"], of: room.application.id, at: room.now)
    #expect(ended.map(\.context.host) == ["web-2"])
  }
}
