import DeviceProtocol
import Foundation
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A database whose secrets are sealed by a key outside it.
@Suite struct SealTests {
  /// A database with each kind of the service's own secrets, and an application.
  private struct Place {
    let room: StorageFixture
    let keys: SealKeys
    let file: Secret

    init(_ engine: StorageEngine) async throws {
      room = try await StorageFixture(engine)
      file = try SealKeyTests.newFile()
      keys = try SealKeys(file: file, place: "keys")
      _ = try await room.storage.signingKeys(at: room.now)
      try await room.storage.setNotifications(NotificationSettingsTests.apple(), of: "shop", at: room.now)
    }

    /// A connection with these keys, as a server or a command has one.
    func opened(_ keys: SealKeys?) throws -> (service: any ServiceStorage, operators: any OperatorStore) {
      var operators = try #require(room.opened() as? any OperatorStore)
      operators.sealKeys = keys
      return (try #require(operators as? any ServiceStorage), operators)
    }

    func seal() async throws -> Int { try await opened(keys).operators.sealSecrets(at: room.now) }

    /// The service's own secrets as they are stored, and those of the application and of computers.
    func stored() async throws -> [String] {
      if let storage = room.storage as? SQLiteStorage {
        return try await storage.read { try SealableRow.everywhere(in: $0).map(\.stored) }
      }
      let storage = try #require(room.storage as? PostgreSQLStorage)
      return try await storage.read { try SealableRow.everywhere(in: $0).map(\.stored) }
    }

    func run(_ sql: StaticString, _ value: String) async throws {
      if let storage = room.storage as? SQLiteStorage { return try await storage.write { try $0.execute(sql, value) } }
      try await #require(room.storage as? PostgreSQLStorage).write { try $0.execute(sql, value) }
    }

    /// The faults of everything that needs a secret.
    func faults(_ keys: SealKeys?) async throws -> Set<String> {
      let (service, operators) = try opened(keys)
      var found: Set<String> = []
      for work: () async throws -> Void in [
        { try await operators.checkSeals() },
        { _ = try await service.pushToken() },
        { _ = try await service.signingKeys(at: room.now) },
        { _ = try await service.rotateSigningKey(at: room.now, isUrgent: true) },
        { try await service.setNotifications(NotificationSettingsTests.apple(), of: "shop", at: room.now) },
      ] {
        do {
          try await work()
          found.insert("done")
        } catch let fault as SealFault { found.insert("\(fault.code)") }
      }
      return found
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func allIsSealedOnceAndGoesOn(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    let clear = try await place.stored()
    let before = try await place.room.storage.signingKeys(at: place.room.now).map(\.id)
    let push = try await place.room.storage.pushToken().key.publicKey.point
    #expect(clear.count == 4 && !clear.contains(where: SealedText.isSealed))
    let told = try await place.room.events()
    #expect(try await place.seal() == 4)
    let sealed = try await place.stored()
    #expect(sealed.allSatisfy(SealedText.isSealed) && !sealed.contains { $0.contains("PRIVATE KEY") })
    // Nobody has set notifications, and the second time changes nothing.
    #expect(try await place.seal() == 0)
    #expect(try await place.room.events() == told + ["secrets sealed"])
    #expect(try await place.stored() == sealed)
    let (service, operators) = try place.opened(place.keys)
    #expect(try await service.signingKeys(at: place.room.now).map(\.id) == before)
    #expect(try await service.pushToken().key.publicKey.point == push)
    try await operators.checkSeals()
    #expect(try await operators.isSealed())
    // Unsealed, everything is as it was.
    #expect(try await operators.unsealSecrets(at: place.room.now) == 4)
    #expect(try await place.stored() == clear)
    #expect(try await place.room.events().last == "secrets unsealed")
    #expect(try await operators.unsealSecrets(at: place.room.now) == 0)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatIsWrittenIntoASealedDatabaseIsSealed(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    // A server with the key that runs while another program seals goes on.
    let (service, _) = try place.opened(place.keys)
    _ = try await service.pushToken()
    _ = try await place.seal()
    _ = try await service.rotateSigningKey(at: place.room.now, isUrgent: true)
    try await service.setNotifications(
      NotificationSettingsTests.apple(keyID: "ABC123DEFH"), of: "shop", at: place.room.now)
    #expect(try await place.stored().allSatisfy(SealedText.isSealed))
    #expect(try await service.sealProblem() == nil)
    let phone = try await place.room.phone()
    let token = UnverifiedAppToken(service: .apple, token: Secret(String(repeating: "0a", count: 32)))
    #expect(try await service.keepPush(.app(token), of: phone, at: place.room.now))
    guard case .app(_, let settings)? = try await service.pushTargets(of: phone.user).first?.way else {
      Issue.record("no app is rung")
      return
    }
    #expect(settings.line.contains("ABC123DEFH"))
  }

  @Test(arguments: StorageEngine.allCases)
  func withoutItsKeyNothingIsReadOrWritten(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    #expect(try await place.faults(nil) == ["done"])
    _ = try await place.seal()
    let sealed = try await place.stored()
    #expect(try await place.faults(nil) == ["noKey"])
    #expect(try await place.faults(SealKeyTests.newKeys()) == ["otherKey"])
    #expect(try await place.stored() == sealed)
    #expect(try await place.opened(nil).service.sealProblem()?.code == .noKey)
    #expect(try await place.opened(SealKeyTests.newKeys()).service.sealProblem()?.code == .otherKey)
    // A command with another key changes nothing either.
    await #expect(throws: SealFault.self) {
      _ = try await place.opened(SealKeyTests.newKeys()).operators.sealSecrets(at: place.room.now)
    }
    #expect(try await place.stored() == sealed)
  }

  @Test(arguments: StorageEngine.allCases)
  func anotherKeyTakesThePlaceOfTheFirst(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    _ = try await place.seal()
    let both = try SealKeys(file: try SealKeyTests.newFile(before: place.file), place: "keys")
    // A server that has the next key already goes on with the one that seals the database.
    _ = try await place.opened(both).service.rotateSigningKey(at: place.room.now, isUrgent: true)
    #expect(try await place.stored().allSatisfy { SealedText($0)?.keyID == place.keys.firstID })
    #expect(try await place.opened(both).operators.sealSecrets(at: place.room.now) == 4)
    #expect(try await place.stored().allSatisfy { SealedText($0)?.keyID == both.firstID })
    try await place.opened(both).operators.checkSeals()
    #expect(try await place.faults(place.keys) == ["otherKey"])
  }

  @Test(arguments: StorageEngine.allCases)
  func aValueThatWasPutInIsRefused(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    let operators = try place.opened(place.keys).operators
    let other = try SigningKey.generate(at: place.room.now)
    _ = try await place.seal()
    let stored = try await place.stored()
    // In clear, from another row, cut off.
    for (value, code) in [
      (other.pem.exposedValue, SealFault.Code.clear), (stored[0], .changed), (String(stored[1].dropLast(8)), .changed),
      ("sealed:9:x:AAAA", .changed),
    ] {
      try await place.run("UPDATE signing_key SET private_key = $1", value)
      let fault = await #expect(throws: SealFault.self) { try await operators.checkSeals() }
      #expect(fault?.code == code)
      await #expect(throws: SealFault.self) {
        try await place.opened(place.keys).service.signingKeys(at: place.room.now)
      }
    }
  }

  @Test(arguments: StorageEngine.allCases)
  func aKeyThatKnowsOfTheSealRefusesADatabaseInClear(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    let knowing = try SealKeys(file: SealKeys.noted(isSealed: true, in: place.file), place: "keys")
    let clear = try await place.stored()
    _ = try await place.seal()
    #expect(try await place.faults(knowing) == ["done"])
    #expect(try await place.opened(knowing).service.sealProblem() == nil)
    // Somebody else puts all of it in clear, the push key too.
    for (table, value) in [("push_key", clear[0]), ("signing_key", clear[1]), ("notification_service", clear[2])] {
      switch table {
      case "push_key": try await place.run("UPDATE push_key SET private_key = $1", value)
      case "signing_key": try await place.run("UPDATE signing_key SET private_key = $1", value)
      default: try await place.run("UPDATE notification_service SET secret = $1", value)
      }
    }
    try await place.run("UPDATE application SET secret = $1", clear[3])
    #expect(try await place.faults(knowing) == ["unsealed"])
    #expect(try await place.opened(knowing).service.sealProblem()?.code == .unsealed)
    // It is not sealed as it is either. Who only has the key takes it.
    await #expect(throws: SealFault.self) {
      _ = try await place.opened(knowing).operators.sealSecrets(at: place.room.now)
    }
    #expect(try await place.opened(knowing).operators.unsealSecrets(at: place.room.now) == 0)
    #expect(try await place.seal() == 4)
  }

  @Test(arguments: StorageEngine.allCases)
  func aLostKeyIsGivenUp(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    let other = try SealKeyTests.newKeys()
    let (service, operators) = try place.opened(other)
    // Nothing is lost in a database in clear, or if the key is there.
    #expect(try await operators.giveUpLostKey(at: place.room.now) == nil)
    _ = try await place.seal()
    let sealed = try await place.stored()
    #expect(try await place.opened(place.keys).operators.giveUpLostKey(at: place.room.now) == nil)
    #expect(try await place.stored() == sealed)
    let known = try await place.opened(place.keys).service.signingKeys(at: place.room.now).map(\.id)
    let lost = try #require(await operators.giveUpLostKey(at: place.room.now))
    #expect(lost.id == place.keys.firstID && lost.notifications.count == 1)
    #expect(try await place.room.events().last == "lost key given up")
    #expect(try await place.stored().allSatisfy { SealedText($0)?.keyID == other.firstID })
    #expect(try await Set(service.signingKeys(at: place.room.now).map(\.id)).isDisjoint(with: known))
    _ = try await service.pushToken()
    #expect(try await place.faults(other) == ["done"])
    #expect(try await operators.giveUpLostKey(at: place.room.now) == nil)
  }

  @Test(arguments: StorageEngine.allCases)
  func aServerShowsCommandsWhichKeysItHas(_ engine: StorageEngine) async throws {
    let place = try await Place(engine)
    let command = try place.opened(nil).operators
    #expect(try await command.runningServers().isEmpty)
    let (without, with) = (try place.opened(nil).operators, try place.opened(place.keys).operators)
    try await without.showServer()
    #expect(try await command.runningServers().map { $0.has(key: place.keys.firstID) } == [false])
    try await with.showServer()
    let seen = try await command.runningServers()
    #expect(seen.count == 2 && seen.filter { $0.has(key: place.keys.firstID) }.count == 1)
    let stranger = try SealKeyTests.newKeys().firstID
    #expect(!seen.contains { $0.has(key: stranger) })
    // A command is not a server.
    _ = try await place.seal()
    #expect(try await command.runningServers().count == 2)
    try without.close()
    try with.close()
  }

  @Test func theFilesAndACopyHaveNothingInClear() async throws {
    let place = try await Place(.sqlite)
    // A key that was there before: its row is free since.
    _ = try await place.room.storage.rotateSigningKey(at: place.room.now, isUrgent: true)
    #expect(try Self.hasClearKey(place.room))
    _ = try await place.seal()
    try await place.opened(place.keys).operators.eraseOverwritten()
    let copy = place.room.folder + "/copy"
    try await #require(place.room.storage as? SQLiteStorage).backUp(to: copy)
    #expect(try !Self.hasClearKey(place.room))
    // The service that ran meanwhile has its tables.
    #expect(try await place.opened(place.keys).service.signingKeys(at: place.room.now).count == 1)
  }

  @Test func thePostgreSQLDatabaseGoesOnAfterTheErasure() async throws {
    let place = try await Place(.postgresql)
    _ = try await place.seal()
    let (service, operators) = try place.opened(place.keys)
    _ = try await service.signingKeys(at: place.room.now)
    try await operators.eraseOverwritten()
    #expect(try await service.signingKeys(at: place.room.now).count == 1)
  }

  @Test func aMoveKeepsWhatIsSealed() async throws {
    let room = try await MoveFixture()
    let keys = try SealKeyTests.newKeys()
    var source = try room.opened()
    source.sealKeys = keys
    let ids = try await source.publishedKeys(at: source.now()).map(\.id)
    #expect(try await source.sealSecrets(at: source.now()) >= 2)
    try source.close()
    _ = try await DatabaseMove.run(from: room.folder, to: room.url)
    var moved = try PostgreSQLStorage(existing: room.url)
    #expect(try await moved.read { try SealableRow.everywhere(in: $0).allSatisfy { SealedText.isSealed($0.stored) } })
    moved.sealKeys = keys
    #expect(try await moved.publishedKeys(at: moved.now()).map(\.id) == ids)
    try await moved.checkSeals()
    moved.close()
  }

  /// Whether a file of the data folder has a private key in clear.
  private static func hasClearKey(_ room: StorageFixture) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: room.folder).contains { name in
      let data = try #require(FileManager.default.contents(atPath: room.folder + "/" + name))
      return data.range(of: Data("PRIVATE KEY".utf8)) != nil
    }
  }
}

extension SealableRow {
  /// All secrets of a database with few of them: the service's own first, and then those of applications.
  static func everywhere(in db: some StorageTransaction) throws -> [SealableRow] {
    try own(in: db) + SealableTable.allCases.flatMap { try $0.rows(after: "", in: db) }
  }
}
