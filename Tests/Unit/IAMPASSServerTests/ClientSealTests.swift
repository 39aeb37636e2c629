import DeviceProtocol
import Foundation
import IAMPASSProtocol
import Synchronization
import Testing

@testable import IAMPASSServer

/// The secrets of applications and computers, sealed by a key outside the database.
@Suite struct ClientSealTests {
  /// An application with a computer, an OpenID client, and a computer that waits to join.
  private struct Office {
    let room: StorageFixture
    let keys: SealKeys
    let desk: HostCredential
    let program: HostCredential
    let waiting: Secret
    let joining: String

    init(_ engine: StorageEngine) async throws {
      room = try await StorageFixture(engine)
      keys = try SealKeyTests.newKeys()
      desk = try await room.storage.createHostCredential(named: "desk", host: "desk", of: "shop", at: room.now)
      let operators = try #require(room.storage as? any OperatorStore)
      program = try await operators.createOpenIDClient(named: "wiki", shown: "Wiki", of: "shop", at: room.now).client
      for (code, isUnattended) in [("code", false), ("open", true)] {
        let order = JoinOrder(
          application: "shop", secret: Secret(code), uses: 10, days: 1, isUnattended: isUnattended)
        _ = try await room.storage.createJoinCode(order, at: room.now)
      }
      waiting = try RandomValue.secret()
      let verdict = try await Self.join("tablet", waiting, by: "code", at: room.storage, room.now)
      guard case .waiting(let id) = verdict else { throw StorageFixture.NotStarted() }
      joining = id
    }

    static func join(
      _ name: String, _ secret: Secret, by code: String, at storage: any ServiceStorage, _ now: UnixTime
    ) async throws -> JoinVerdict {
      let request = JoinRequest(code: Secret(code), name: name, secret: secret)
      return try await storage.join(ReceivedJoinRequest(request: request, address: "192.0.2.7"), at: now)
    }

    /// A connection with these keys, as a server or a command has one.
    func opened(_ keys: SealKeys?) throws -> (service: any ServiceStorage, operators: any OperatorStore) {
      var operators = try #require(room.opened() as? any OperatorStore)
      operators.sealKeys = keys
      return (try #require(operators as? any ServiceStorage), operators)
    }

    func seal() async throws -> Int { try await opened(keys).operators.sealSecrets(at: room.now) }

    func run(_ sql: StaticString) async throws {
      if let storage = room.storage as? SQLiteStorage { return try await storage.write { try $0.execute(sql) } }
      try await #require(room.storage as? PostgreSQLStorage).write { try $0.execute(sql) }
    }

    func run(_ sql: StaticString, _ first: String, _ second: String) async throws {
      if let storage = room.storage as? SQLiteStorage {
        return try await storage.write { try $0.execute(sql, first, second) }
      }
      try await #require(room.storage as? PostgreSQLStorage).write { try $0.execute(sql, first, second) }
    }

    /// The clients' secrets as they are stored, without those of sessions.
    func stored() async throws -> [String] {
      if let storage = room.storage as? SQLiteStorage { return try await storage.read(Self.clientSecrets(in:)) }
      return try await #require(room.storage as? PostgreSQLStorage).read(Self.clientSecrets(in:))
    }

    private static func clientSecrets(in db: some StorageTransaction) throws -> [String] {
      try SealableTable.allCases.flatMap { table in
        var found: [SealableRow] = []
        while true {
          let portion = try table.rows(after: found.last?.id ?? "", in: db)
          guard !portion.isEmpty else { return found.map(\.stored) }
          found += portion
        }
      }
    }

    /// All rows of all tables, or all files: what a backup has.
    func everything() async throws -> Data {
      if room.engine == .sqlite {
        return try FileManager.default.contentsOfDirectory(atPath: room.folder).reduce(into: Data()) { all, name in
          all += FileManager.default.contents(atPath: room.folder + "/" + name) ?? Data()
        }
      }
      let rows = try await #require(room.storage as? PostgreSQLStorage).read { db in
        try db.text(
          """
          SELECT string_agg(query_to_xml('SELECT * FROM ' || quote_ident(table_name), true, false, '')::text, '')
          FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
          """)
      }
      return Data(try #require(rows).utf8)
    }

    /// What of these secrets a backup has.
    func found() async throws -> [String] {
      let all = try await everything()
      return [
        ("application", room.application.secret), ("computer", desk.secret), ("program", program.secret),
        ("waiting", waiting),
      ].filter { all.range(of: Data($0.1.exposedValue.utf8)) != nil }.map(\.0)
    }
  }

  private func fault(_ work: () async throws -> Void) async throws -> SealFault.Code? {
    do {
      try await work()
      return nil
    } catch let fault as SealFault { return fault.code }
  }

  @Test(arguments: StorageEngine.allCases)
  func aBackupOfASealedDatabaseHasNoClientsSecret(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let room = office.room
    #expect(try await office.found() == ["application", "computer", "program", "waiting"])
    let told = try await room.events()
    _ = try await office.seal()
    let (service, operators) = try office.opened(office.keys)
    try await operators.eraseOverwritten()
    #expect(try await office.found() == [])
    // Nobody has given an application another secret.
    #expect(try await room.events() == told + ["secrets sealed"])
    #expect(try await service.signInClient(room.application.id)?.secret == room.application.secret)
    #expect(try await service.application(room.application.id)?.secret == room.application.secret)
    #expect(try await service.signInClient(office.desk.id)?.secret == office.desk.secret)
    #expect(try await service.signInClient(office.program.id)?.secret == office.program.secret)
    try await operators.checkSeals()
    // The second time changes nothing.
    let sealed = try await office.stored()
    #expect(try await operators.sealSecrets(at: room.now) == 0)
    #expect(try await office.stored() == sealed)
    _ = try await operators.unsealSecrets(at: room.now)
    #expect(try await office.found() == ["application", "computer", "program", "waiting"])
    #expect(try await office.opened(nil).service.signInClient(office.desk.id)?.secret == office.desk.secret)
  }

  @Test(arguments: StorageEngine.allCases)
  func whatIsMadeInASealedDatabaseIsSealed(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let now = office.room.now
    _ = try await office.seal()
    let (service, operators) = try office.opened(office.keys)
    let bank = try await service.createApplication(named: "bank", matchCodes: .off, at: now)
    let till = try await service.createHostCredential(named: "till", host: "till", of: "bank", at: now)
    _ = try await operators.createOpenIDClient(named: "forum", shown: "Forum", of: "bank", at: now)
    let (asked, made) = (try RandomValue.secret(), try RandomValue.secret())
    _ = try await Office.join("phone-desk", asked, by: "code", at: service, now)
    guard case .joined(let joined, _, _) = try await Office.join("lobby", made, by: "open", at: service, now) else {
      Issue.record("the computer has not joined")
      return
    }
    #expect(try await operators.decideJoin(office.joining, isApproved: true, at: now) != .unknown)
    let renewed = try RandomValue.secret()
    #expect(try await service.renewSecret(of: office.room.application.id, to: renewed, at: now) != nil)
    _ = try await operators.addAdministrator("ada", role: .admin, at: now)
    #expect(try await office.stored().count == 10)
    #expect(try await office.stored().allSatisfy(SealedText.isSealed))
    for (id, secret) in [
      (bank.id, bank.secret), (till.id, till.secret), (joined.id, made), (office.room.application.id, renewed),
    ] { #expect(try await service.signInClient(id)?.secret == secret) }
    let tablet = try #require(try await operators.hostCredentials(of: "shop").first { $0.name == "tablet" })
    #expect(try await service.signInClient(tablet.id)?.secret == office.waiting)
    try await operators.checkSeals()
  }

  @Test(arguments: StorageEngine.allCases)
  func aSecretOpensInItsOwnRowAlone(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    _ = try await office.seal()
    let service = try office.opened(office.keys).service
    let other = try await service.createHostCredential(named: "other", host: "other", of: "shop", at: office.room.now)
    try await office.run(
      "UPDATE host_credential SET secret = (SELECT secret FROM host_credential WHERE id = $1) WHERE id = $2", other.id,
      office.desk.id)
    #expect(try await fault { _ = try await service.signInClient(office.desk.id) } == .changed)
    try await office.run(
      "UPDATE host_credential SET secret = (SELECT secret FROM application WHERE id = $1) WHERE id = $2",
      office.room.application.id, office.desk.id)
    #expect(try await fault { _ = try await service.signInClient(office.desk.id) } == .changed)
    #expect(try await fault { try await office.opened(office.keys).operators.checkSeals() } == .changed)
    #expect(try await service.signInClient(other.id)?.secret == other.secret)
  }

  @Test(arguments: StorageEngine.allCases)
  func withoutTheKeyNoClientIsProvenOrMade(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let now = office.room.now
    _ = try await office.seal()
    let sealed = try await office.stored()
    let lacking: [(SealKeys?, SealFault.Code)] = [(nil, .noKey), (try SealKeyTests.newKeys(), .otherKey)]
    for (keys, code) in lacking {
      let (service, operators) = try office.opened(keys)
      #expect(try await fault { _ = try await service.signInClient(office.desk.id) } == code)
      #expect(try await fault { _ = try await service.signInClients([office.room.application.id]) } == code)
      let nonce = SignedNonce(
        owner: "host:x", value: try RandomValue.identifier(), forgetAt: now.advanced(seconds: 600))
      #expect(try await fault { _ = try await service.useNonce(nonce, reading: office.desk.id, at: now) } == code)
      #expect(
        try await fault {
          _ = try await service.createHostCredential(named: "x", host: "x", of: "shop", at: now)
        } == code)
      #expect(
        try await fault { _ = try await operators.decideJoin(office.joining, isApproved: true, at: now) } == code)
      // What needs no secret needs no key.
      #expect(try await operators.hostCredentials(of: "shop").count == 1)
      #expect(try await service.renameCredential(office.desk.id, of: office.room.application.id, to: "desk 1") == true)
      #expect(try await service.renameCredential(office.desk.id, of: office.room.application.id, to: "desk") == true)
    }
    #expect(try await office.stored() == sealed)
  }

  @Test(arguments: StorageEngine.allCases)
  func aSecretInClearIsAcceptedUntilAllAreSealed(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let clear = office.desk.secret
    _ = try await office.seal()
    let service = try office.opened(office.keys).service
    try await office.run(
      "UPDATE host_credential SET secret = $1 WHERE id = $2", clear.exposedValue, office.desk.id)
    #expect(try await fault { _ = try await service.signInClient(office.desk.id) } == .clear)
    // An interrupted seal.
    try await office.run("UPDATE push_key SET client_seal = 'sealing'")
    #expect(try await service.signInClient(office.desk.id)?.secret == clear)
    let lobby = try await service.createHostCredential(named: "lobby", host: "lobby", of: "shop", at: office.room.now)
    #expect(try await office.stored().filter { !SealedText.isSealed($0) } == [clear.exposedValue])
    #expect(try await office.seal() == 1)
    // An interrupted unsealing.
    try await office.run("UPDATE push_key SET client_seal = 'unsealing'")
    let till = try await service.createHostCredential(named: "till", host: "till", of: "shop", at: office.room.now)
    #expect(try await office.stored().filter { !SealedText.isSealed($0) } == [till.secret.exposedValue])
    for one in [office.desk, lobby, till] { #expect(try await service.signInClient(one.id)?.secret == one.secret) }
    _ = try await office.opened(office.keys).operators.unsealSecrets(at: office.room.now)
    #expect(try await office.stored().allSatisfy { !SealedText.isSealed($0) })
  }

  @Test(arguments: StorageEngine.allCases)
  func aDatabaseThatAnEarlierVersionSealedGoesOn(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    _ = try await office.seal()
    try await office.run("UPDATE push_key SET client_seal = NULL")
    try await office.run(
      "UPDATE host_credential SET secret = $1 WHERE id = $2", office.desk.secret.exposedValue, office.desk.id)
    let (service, operators) = try office.opened(office.keys)
    #expect(try await service.signInClient(office.desk.id)?.secret == office.desk.secret)
    #expect(try await operators.isSealed())
    #expect(try await !operators.areClientsSealed())
    // A server of that version still runs: it can use what is made now.
    let till = try await service.createHostCredential(named: "till", host: "till", of: "shop", at: office.room.now)
    #expect(try await office.stored().contains(till.secret.exposedValue))
    try await operators.checkSeals()
    #expect(try await operators.sealSecrets(at: office.room.now) == 2)
    #expect(try await operators.areClientsSealed())
    #expect(try await office.stored().allSatisfy(SealedText.isSealed))
  }

  @Test(arguments: StorageEngine.allCases)
  func manyAreSealedInPortionsWhileOthersAreMade(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let (room, count) = (office.room, Int(SealableTable.portion) + 20)
    for number in 0..<count {
      _ = try await room.storage.createHostCredential(
        named: "desk \(number)", host: "desk-\(number)", of: "shop", at: room.now)
    }
    let (service, operators) = try office.opened(office.keys)
    async let sealed = operators.sealSecrets(at: room.now)
    for number in 0..<20 {
      _ = try await service.createHostCredential(named: "late \(number)", host: "l\(number)", of: "shop", at: room.now)
    }
    let rewritten = try await sealed
    #expect(rewritten >= count)
    let stored = try await office.stored()
    #expect(stored.count == count + 20 + 4 && stored.allSatisfy(SealedText.isSealed))
    try await operators.checkSeals()
  }

  @Test(arguments: StorageEngine.allCases)
  func aLostKeyTakesTheClientsWithIt(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let (room, other) = (office.room, try SealKeyTests.newKeys())
    _ = try await office.seal()
    let (service, operators) = try office.opened(other)
    let lost = try #require(try await operators.giveUpLostKey(at: room.now)).clients
    #expect(lost.applications == ["shop"])
    #expect(lost.credentials.sorted() == ["shop: desk", "shop: wiki"] && lost.joinings == ["tablet"])
    try await operators.checkSeals()
    let shop = try #require(try await service.signInClient(room.application.id))
    #expect(shop.secret != room.application.secret)
    let desk = try #require(try await service.signInClient(office.desk.id))
    #expect(desk.secret != office.desk.secret && desk.credential?.isRevoked == true)
    // The computer joins again under its name.
    let again = try await Office.join("desk", RandomValue.secret(), by: "open", at: service, room.now)
    guard case .joined = again else {
      Issue.record("the computer cannot join again")
      return
    }
    let renewed = try RandomValue.secret()
    #expect(try await service.renewSecret(of: room.application.id, to: renewed, at: room.now) != nil)
    #expect(try await service.signInClient(room.application.id)?.secret == renewed)
  }

  @Test(arguments: StorageEngine.allCases)
  func aBackupOfASealedDatabaseHasNoSessionsSecret(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let room = office.room
    let phone = try await room.phone()
    let session = try await room.started(room.ask(by: office.desk))
    let (secret, reply) = (try session.secret.value, try session.replySecret.value)
    #expect(reply == office.desk.secret)
    _ = try await office.seal()
    let (service, operators) = try office.opened(office.keys)
    try await operators.eraseOverwritten()
    // Whatever is written from here on is sealed, too.
    let later = try await room.started(room.ask(host: "web-2"), on: service)
    _ = try await room.answer(session.id, .approve, by: phone, on: service).get()
    let all = try await office.everything()
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
    let office = try await Office(engine)
    let room = office.room
    _ = try await room.phone()
    let (first, other) = (try await room.started(room.ask()), try await room.started(room.ask(host: "web-2")))
    _ = try await office.seal()
    try await office.run(
      "UPDATE session SET secret = (SELECT secret FROM session WHERE id = $1) WHERE id = $2", other.id, first.id)
    #expect(
      try await fault { _ = try await office.opened(office.keys).service.keys(ofSession: first.id) } == .changed)
    try await office.run(
      "UPDATE session SET reply_secret = (SELECT secret FROM session WHERE id = $1) WHERE id = $2", other.id, other.id)
    #expect(
      try await fault { _ = try await office.opened(office.keys).service.keys(ofSession: other.id) } == .changed)
    #expect(try await fault { _ = try await office.opened(nil).service.keys(ofSession: other.id) } == .noKey)
    #expect(
      try await fault { _ = try await room.started(room.ask(host: "web-3"), on: office.opened(nil).service) } == .noKey)
  }

  /// Its reply has the session's secret again.
  @Test(arguments: StorageEngine.allCases)
  func aStartThatIsRepeatedOpensItsSession(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let room = office.room
    _ = try await room.phone()
    var ask = room.ask(by: office.desk)
    ask.name = StartName("0123456789abcdef0123456789abcdef")
    let session = try await room.started(ask)
    _ = try await office.seal()
    let start = try await room.start(ask, on: office.opened(office.keys).service)
    guard case .begun(let again, _) = start.outcome else {
      Issue.record("another session was started")
      return
    }
    #expect(again.secret == session.secret)
    #expect(throws: SealFault.self) { try StoredSecret(stored: "sealed:1:a:AAAA").value }
  }

  @Test(arguments: StorageEngine.allCases)
  func aBackupOfASealedDatabaseDoesNotSayHowToRingPhones(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let room = office.room
    let (browser, app) = (try await room.phone(), try await room.phone(of: "bob"))
    let subscription = PushTests.subscription(at: "https://push.example.org")
    let token = Secret(String(repeating: "0a", count: 32))
    let told = PushWay.app(UnverifiedAppToken(service: .apple, token: token))
    try await room.storage.setNotifications(NotificationSettingsTests.apple(), of: "shop", at: room.now)
    #expect(try await room.storage.keepPush(.browser(subscription), of: browser, at: room.now))
    #expect(try await room.storage.keepPush(told, of: app, at: room.now))
    let secrets = [Secret(subscription.endpoint), subscription.auth, token]
    func found() async throws -> Int {
      let all = try await office.everything()
      return secrets.count { all.range(of: Data($0.exposedValue.utf8)) != nil }
    }
    #expect(try await found() == 3)
    _ = try await office.seal()
    let (service, operators) = try office.opened(office.keys)
    try await operators.eraseOverwritten()
    #expect(try await found() == 0)
    // What is kept now is sealed, too, and each is forgotten as it was told.
    for (phone, way) in [(browser, PushWay.browser(subscription)), (app, told)] {
      let before = try #require(try await service.pushTargets(of: phone.user).first)
      room.clock.advance(seconds: 1)
      #expect(try await service.keepPush(way, of: phone, at: room.now))
      #expect(try await found() == 0)
      if case .app = way { try await service.forget(before) }
      let again = try #require(try await service.pushTargets(of: phone.user).first)
      try await service.forget(again)
      #expect(try await service.pushTargets(of: phone.user).isEmpty)
    }
    try await operators.checkSeals()
  }

  @Test(arguments: StorageEngine.allCases)
  func aPhoneIsRungAtItsOwnAddressAlone(_ engine: StorageEngine) async throws {
    let office = try await Office(engine)
    let room = office.room
    let (first, other) = (try await room.phone(), try await room.phone(of: "bob"))
    for (phone, name) in [(first, "a"), (other, "b")] {
      let subscription = PushTests.subscription(at: "https://\(name).example.org")
      #expect(try await room.storage.keepPush(.browser(subscription), of: phone, at: room.now))
    }
    _ = try await office.seal()
    let service = try office.opened(office.keys).service
    #expect(try await service.pushTargets(of: first.user).count == 1)
    try await office.run(
      "UPDATE push_subscription SET endpoint = (SELECT endpoint FROM push_subscription WHERE phone = $1) WHERE phone = $2",
      other.id, first.id)
    #expect(try await fault { _ = try await service.pushTargets(of: first.user) } == .changed)
    #expect(!AppToken.isFit(UnverifiedAppToken(service: .google, token: Secret("sealed:1:0123456789:AAAA"))))
  }

  /// It would take a sealed secret for one in clear.
  @Test func aServerOfAnEarlierVersionIsRefusedWhileSecretsAreSealed() async throws {
    let office = try await Office(.postgresql)
    let storage = try #require(office.room.storage as? PostgreSQLStorage)
    func least() async throws -> Int64? {
      try await storage.read {
        try $0.first("SELECT least FROM schema_migration WHERE name = 'sealed clients'").map {
          try $0.get("least") as Int64
        }
      }
    }
    let place = try #require(PostgreSQLSchema.migrations.firstIndex { $0.name == "sealed clients" }) + 1
    #expect(try await least() == 1)
    _ = try await office.seal()
    #expect(try await least() == Int64(place))
    _ = try await office.opened(office.keys).operators.unsealSecrets(at: office.room.now)
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
    let office = try await Office(.postgresql)
    _ = try await office.seal()
    let storage = try #require(try office.opened(office.keys).service as? PostgreSQLStorage)
    func trips() async throws -> Int {
      let before = storage.pool.roundTrips.load(ordering: .sequentiallyConsistent)
      let nonce = SignedNonce(
        owner: office.desk.id, value: try RandomValue.identifier(), forgetAt: office.room.now.advanced(seconds: 600))
      let spent = try await storage.useNonce(nonce, reading: office.desk.id, at: office.room.now)
      #expect(spent.signInClient?.secret == office.desk.secret)
      return storage.pool.roundTrips.load(ordering: .sequentiallyConsistent) - before
    }
    _ = try await trips()
    #expect(try await trips() == 1)
    // One that is still in clear asks whether it may be.
    try await office.run("UPDATE push_key SET client_seal = 'sealing'")
    try await office.run(
      "UPDATE host_credential SET secret = $1 WHERE id = $2", office.desk.secret.exposedValue, office.desk.id)
    #expect(try await trips() == 1)
  }

  @Test func aServerShowsThatItOpensClientsSecrets() {
    #expect(RunningServer(with: nil).opensClients)
    // As an earlier version shows itself.
    #expect(!RunningServer(marks: [0, 1, 0x7FFF_FFFE]).opensClients)
  }
}
