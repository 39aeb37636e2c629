import Foundation
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// Servers beside a database whose clients' secrets are sealed, and what sealing costs a request.
@Suite struct EarlierServerSealTests {
  /// It would take a sealed secret for one in clear.
  @Test func aServerOfAnEarlierVersionIsRefusedWhileSecretsAreSealed() async throws {
    let fixture = try await ClientSealFixture(.postgresql)
    let storage = try #require(fixture.room.storage as? PostgreSQLStorage)
    func least() async throws -> Int64? {
      try await storage.read {
        try $0.first("SELECT least FROM schema_migration WHERE name = 'sealed clients'").map {
          try $0.get("least") as Int64
        }
      }
    }
    let place = try #require(PostgreSQLSchema.migrations.firstIndex { $0.name == "sealed clients" }) + 1
    #expect(try await least() == 1)
    _ = try await fixture.seal()
    #expect(try await least() == Int64(place))
    _ = try await fixture.opened(fixture.keys).operators.unsealSecrets(at: fixture.room.now)
    #expect(try await least() == 1)
  }

  @Test func aMoveKeepsClientsSealedAndEarlierServersOut() async throws {
    let room = try await MoveFixture()
    let keys = try SealKeyTests.newKeys()
    var source = try room.opened()
    source.sealKeys = keys
    let made = try await source.createHostCredential(
      named: "till", host: "till", of: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", at: source.now())
    _ = try await source.sealSecrets(at: source.now())
    try source.close()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    var moved = try PostgreSQLStorage(existing: room.url)
    let least: Int64? = try await moved.read {
      try $0.first("SELECT max(least) AS least FROM schema_migration").map { try $0.get("least") as Int64 }
    }
    let place = try #require(PostgreSQLSchema.migrations.firstIndex { $0.name == "sealed clients" }) + 1
    #expect(least == Int64(place))
    let keyless = moved
    await #expect(throws: SealFault.self) { try await keyless.signInClient(made.id) }
    moved.sealKeys = keys
    #expect(try await moved.signInClient(made.id)?.secret == made.secret)
    try await moved.checkSeals()
    moved.close()
    let back = MoveFixture.newFolder()
    defer { try? FileManager.default.removeItem(atPath: back) }
    _ = try await DatabaseMove.run(from: room.url, to: back)
    var again = try SQLiteStorage(existing: back)
    again.sealKeys = keys
    #expect(try await again.signInClient(made.id)?.secret == made.secret)
    try await again.checkSeals()
    try again.close()
  }

  @Test func aSealedSecretIsReadInTheVisitThatSpendsTheNonce() async throws {
    let fixture = try await ClientSealFixture(.postgresql)
    _ = try await fixture.seal()
    let storage = try #require(try fixture.opened(fixture.keys).service as? PostgreSQLStorage)
    func trips() async throws -> Int {
      let before = storage.pool.roundTrips.load(ordering: .sequentiallyConsistent)
      let nonce = SignedNonce(
        owner: fixture.desk.id, value: try RandomValue.identifier(), forgetAt: fixture.room.now.advanced(seconds: 600))
      let spent = try await storage.useNonce(nonce, reading: fixture.desk.id, at: fixture.room.now)
      #expect(spent.signInClient?.secret == fixture.desk.secret)
      return storage.pool.roundTrips.load(ordering: .sequentiallyConsistent) - before
    }
    _ = try await trips()
    #expect(try await trips() == 1)
    // One that is still in clear asks whether it may be.
    try await fixture.run("UPDATE push_key SET client_seal = 'sealing'")
    try await fixture.run(
      "UPDATE host_credential SET secret = $1 WHERE id = $2", fixture.desk.secret.exposedValue, fixture.desk.id)
    #expect(try await trips() == 1)
  }

  @Test func aServerShowsThatItOpensClientsSecrets() {
    #expect(RunningServer(with: nil).opensClients)
    // As an earlier version shows itself.
    #expect(!RunningServer(marks: [0, 1, 0x7FFF_FFFE]).opensClients)
  }
}
