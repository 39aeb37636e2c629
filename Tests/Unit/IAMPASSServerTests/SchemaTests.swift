import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct SchemaTests {
  /// The beginning of SHA-256 over what each migration makes, changes and drops: tables, indices, triggers.
  ///
  /// A migration that was released is never changed, nor a constant that it has its text from: databases that have it
  /// would stay as they are. A new one is a new line here.
  private static let digests = [
    "first": "c941b6471520cb58",
    "push": "d48927c2978f344d",
    "source blocks": "e45760cb87744ba2",
    "host credentials": "600494d913e0b0bd",
    "match codes": "fd667cadde4efc1e",
    "phone credentials": "711d152038cb859b",
    "held back requests": "fa6451ae33b99bdf",
    "denials": "ed12372d22fd8385",
    "wrong codes": "edcff53e6193d47d",
    "audit": "badda55fb766999d",
    "console": "479a8397d36fda53",
    "audit of links, credentials and settings": "c9807d0ecfafe6da",
    "phone pages": "e9eec0886603a0f1",
    "restored copies": "16bd4769278f52a5",
    "users' ids used once": "8c95d126e2080db6",
    "service mark": "d4dc9617fa71b173",
    "hosts' boots": "855a06f34a82bba5",
    "recent match codes": "20a11013699891d6",
    "service time": "e27b344b8f05efe2",
  ]

  @Test func releasedMigrationsAreWhatTheyWere() throws {
    let database = try DatabaseQueue()
    var before: Set<String> = []
    for name in Schema.migrator.migrations {
      try Schema.migrator.migrate(database, upTo: name)
      let after = try database.read(Self.objects)
      let change = after.subtracting(before).sorted() + before.subtracting(after).sorted().map { "no more: " + $0 }
      let digest = String(Digest.hexadecimal(Digest.sha256(Array(change.joined(separator: "\n").utf8))).prefix(16))
      #expect(Self.digests[name] == digest, "\(name): \(digest)")
      before = after
    }
    #expect(Set(Schema.migrator.migrations) == Set(Self.digests.keys))
  }

  private static func objects(in db: Database) throws -> Set<String> {
    try String.fetchSet(db, sql: "SELECT type || ' ' || name || ': ' || sql FROM sqlite_master WHERE sql IS NOT NULL")
  }

  /// The same in a new database and in an upgraded one, since both run the same migrations.
  @Test func everySettingIsAudited() throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let (columns, trigger) = try database.read { db in
      (
        try db.columns(in: "application").map(\.name),
        try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = 'audit_settings'") ?? ""
      )
    }
    #expect(columns.contains("walkaway"))
    for column in columns where !["id", "name", "secret", "created_at"].contains(column) {
      #expect(trigger.contains("NEW.\(column) IS NOT OLD.\(column)"), "\(column) is not audited")
    }
  }
}
