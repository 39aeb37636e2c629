import Foundation
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// An application with a computer, an OpenID client, and a computer that waits to join, and a key outside the database.
struct ClientSealFixture {
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

/// Why secrets cannot be used in this work; nil if they can.
func sealFault(_ work: () async throws -> Void) async throws -> SealFault.Code? {
  do {
    try await work()
    return nil
  } catch let fault as SealFault { return fault.code }
}
