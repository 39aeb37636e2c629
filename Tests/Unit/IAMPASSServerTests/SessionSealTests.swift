import Foundation
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// The secrets of sessions, sealed by a key outside the database.
@Suite struct SessionSealTests {
  @Test(arguments: StorageEngine.allCases)
  func aBackupOfASealedDatabaseHasNoSessionsSecret(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let room = fixture.room
    let phone = try await room.phone()
    let session = try await room.started(room.ask(by: fixture.desk))
    let (secret, reply) = (try session.secret.value, try session.replySecret.value)
    #expect(reply == fixture.desk.secret)
    _ = try await fixture.seal()
    let (service, operators) = try fixture.opened(fixture.keys)
    try await operators.eraseOverwritten()
    // Whatever is written from here on is sealed, too.
    let later = try await room.started(room.ask(host: "web-2"), on: service)
    _ = try await room.answer(session.id, .approve, by: phone, on: service).get()
    let all = try await fixture.everything()
    for one in [secret, reply, try later.secret.value, room.application.secret] {
      #expect(all.range(of: Data(one.exposedValue.utf8)) == nil)
    }
    let keys = try #require(try await service.keys(ofSession: session.id))
    #expect(keys.replySecret == reply && !keys.signers.isEmpty)
    #expect(try await service.keys(ofSession: later.id)?.replySecret == room.application.secret)
    try await operators.checkSeals()
    _ = try await operators.unsealSecrets(at: room.now)
    let stored = try #require(try await room.storage.session(session.id))
    #expect(stored.secret == .clear(secret) && stored.replySecret == .clear(reply))
  }

  @Test(arguments: StorageEngine.allCases)
  func aSessionsSecretsOpenInItsOwnRowAlone(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let room = fixture.room
    _ = try await room.phone()
    let (first, other) = (try await room.started(room.ask()), try await room.started(room.ask(host: "web-2")))
    _ = try await fixture.seal()
    try await fixture.run(
      "UPDATE session SET secret = (SELECT secret FROM session WHERE id = $1) WHERE id = $2", other.id, first.id)
    #expect(
      try await sealFault { _ = try await fixture.opened(fixture.keys).service.keys(ofSession: first.id) } == .changed)
    try await fixture.run(
      "UPDATE session SET reply_secret = (SELECT secret FROM session WHERE id = $1) WHERE id = $2", other.id, other.id)
    #expect(
      try await sealFault { _ = try await fixture.opened(fixture.keys).service.keys(ofSession: other.id) } == .changed)
    #expect(try await sealFault { _ = try await fixture.opened(nil).service.keys(ofSession: other.id) } == .noKey)
    #expect(
      try await sealFault { _ = try await room.started(room.ask(host: "web-3"), on: fixture.opened(nil).service) }
        == .noKey)
  }

  /// Its reply has the session's secret again.
  @Test(arguments: StorageEngine.allCases)
  func aStartThatIsRepeatedOpensItsSession(_ engine: StorageEngine) async throws {
    let fixture = try await ClientSealFixture(engine)
    let room = fixture.room
    _ = try await room.phone()
    var ask = room.ask(by: fixture.desk)
    ask.name = StartName("0123456789abcdef0123456789abcdef")
    let session = try await room.started(ask)
    _ = try await fixture.seal()
    let start = try await room.start(ask, on: fixture.opened(fixture.keys).service)
    guard case .begun(let again, _) = start.outcome else {
      Issue.record("another session was started")
      return
    }
    #expect(again.secret == session.secret)
    #expect(throws: SealFault.self) { try StoredSecret(stored: "sealed:1:a:AAAA").value }
  }
}
