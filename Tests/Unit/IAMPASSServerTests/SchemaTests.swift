import GRDB
import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

@Suite struct SchemaTests {
  /// The beginning of SHA-256 over what each migration makes, changes and drops: tables, indices, triggers.
  ///
  /// A released migration never changes: databases that have it would stay as they are. A new migration is a new line.
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
    "hosts' boots": "dd214b19f7948178",
    "recent match codes": "20a11013699891d6",
    "service time": "e27b344b8f05efe2",
    "approvals that computers verify": "95b21153386bc689",
    "approval tokens": "9ecb9305f2a13af5",
    "looks at the page": "7e6dfc6ba47c62bf",
    "audit of signing keys' removals": "027344aa439ab990",
    "OpenID clients": "649a191c3db11dd4",
    "notifications": "82b643ad59dd3fc7",
    "training": "6f24a4604ee422c2",
    "faces": "bbf73a6a556beae5",
    "moves": "0777803f0f7165f4",
    "joining": "9fc08190771cd66a",
    "user lists": "628a8d2b4c4df892",
    "told groups": "43a22b2323238172",
    "administrators": "804be9f4d96bc632",
    "uses of codes": "994bf32ef203a9b1",
    "second phones": "c613eb28ca52767f",
    "locums": "e78972213565d898",
    "names of sign-ins": "16da5fd7d32c16ac",
    "computers' marks": "e69434eff5fbdf21",
    "join asks": "b5e8ccb79779c685",
    "computers' reports": "d0667b7b34cda48b",
    "offline sessions": "ed3531b15040e0a3",
    "named locums": "5d58c027c4779de0",
    "signed lists": "5dfc8b5f4e8fbe1d",
    "indices of sessions": "c6cd6583622620d6",
    "lifted blocks": "84fb18fa66e1974d",
    "told names": "c730fed1b3a7a929",
    "actors of the audit": "dcf8a60d8107818b",
    "user groups": "b19262375f64f475",
    "indices of old credentials": "50d71197054aa89d",
    "synced passkeys": "52c9f7d5cd5f5b19",
    "list counts": "211a374fcc2cee3d",
    "mark stamps": "e759ba52ec3296e1",
    "join pages": "e90917b6f3ac7672",
    "computers' names": "7557ac17675b0e55",
    "sign-in counts": "8f360f571f7ed90a",
    "console networks": "a778780dd8c3c0f7",
    "entries of signing": "23caf5053ec86b60",
    "allowed locums": "9c277cefd2dacf72",
    "silent computers": "69951d7ba1934bdf",
    "reasons of orders": "9e9ae7890ac9ce4b",
    "kept counts": "631362c90a1079e4",
    "users in their order": "1ae21a0133fbf1b6",
    "rare entries": "d7a2146084603abc",
    "computers by name": "4796e58fdd20e031",
    "sealed clients": "24b425754b27559d",
    "signed members": "aee07ebb993beb10",
  ]

  /// The beginning of SHA-256 over each migration's SQL, which also says what happens to the rows.
  private static let textDigests = [
    "first": "1c79199dce405ad3",
    "push": "ec90399e62006b4e",
    "source blocks": "bb3f7ff2a18266f6",
    "host credentials": "ca5e8f73ab2c8f20",
    "match codes": "4e3688424266495f",
    "phone credentials": "68b12f7af6bf0e10",
    "held back requests": "d9408370b6ac2588",
    "denials": "449e277fc5001587",
    "wrong codes": "3427f68f0205ba8e",
    "audit": "4bb864c9177f1e1d",
    "console": "57972aec535e1822",
    "audit of links, credentials and settings": "5b08a72e60440835",
    "phone pages": "7f53a13764c435a8",
    "restored copies": "3a8a7d25ddd721cd",
    "users' ids used once": "7750637676648cd4",
    "service mark": "f7137ee75452dae3",
    "hosts' boots": "58d7e0d694210fa7",
    "recent match codes": "c8af129294302de4",
    "service time": "4c605db11f85ec02",
    "approvals that computers verify": "f839d39749330d4e",
    "approval tokens": "ee7ff58a77839fdf",
    "looks at the page": "0d4c0e4a31e448c0",
    "audit of signing keys' removals": "0e2f2166726302d0",
    "OpenID clients": "e5d1d86231b86372",
    "notifications": "86a9be9e1afd965a",
    "training": "12df1b4f7ee75d78",
    "faces": "c1111a1b80fe9cb3",
    "moves": "5d45d6e1da94b14b",
    "joining": "3415127ded440afe",
    "user lists": "2a26e6f216619e3b",
    "told groups": "da467b1f3289b335",
    "administrators": "798b78eba0342bea",
    "uses of codes": "595b5849ba005435",
    "second phones": "fbcc80b03f0a2e6c",
    "locums": "ff5b9146e818cca8",
    "names of sign-ins": "7ea58c4e828059aa",
    "computers' marks": "238871e1f8ca40e6",
    "join asks": "1845b57121f91ebc",
    "computers' reports": "e9cb42165e048b4e",
    "offline sessions": "f0a190018c6db295",
    "named locums": "66c29b2878fd4e25",
    "signed lists": "e8eba4017c51af32",
    "indices of sessions": "56a35cd067cb88c1",
    "lifted blocks": "37b17919821ffc61",
    "told names": "cb14a4244a153aec",
    "actors of the audit": "509157ff35a3585b",
    "user groups": "280a3079bd1b9c12",
    "indices of old credentials": "02c83f307c9f7556",
    "synced passkeys": "da2945e77b4d68c8",
    "list counts": "184d2790ebcb51dc",
    "mark stamps": "2431c4ecc4bfb196",
    "join pages": "3606ff74ee57b41c",
    "computers' names": "d0aaa5d4c9d1fd9c",
    "sign-in counts": "2f54761134cb7989",
    "console networks": "8b5a61b7c20ebaaa",
    "entries of signing": "a0b172feb96a3b75",
    "allowed locums": "b25ba54bd3da9b4a",
    "silent computers": "64460393444f985c",
    "reasons of orders": "a37c356bb0b6fa2b",
    "kept counts": "6addffa1e0afdad7",
    "users in their order": "4c526dd99df0bdab",
    "rare entries": "027fb8813bef52a1",
    "computers by name": "9a6e9b2d4b9ae759",
    "sealed clients": "e0ee77fdd7b43514",
    "signed members": "37840495f46ffc38",
  ]

  @Test func theTextOfReleasedMigrationsIsWhatItWas() {
    #expect(Set(Schema.migrations.map(\.name)) == Set(Self.textDigests.keys))
    for migration in Schema.migrations {
      let digest = String(Digest.hexadecimal(Digest.sha256(Array(migration.sql.utf8))).prefix(16))
      #expect(Self.textDigests[migration.name] == digest, "\(migration.name): \(digest)")
    }
  }

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

  /// An entry in the time of the database's clock is not taken for one in service time.
  @Test func everyEventOfTheDatabasesClockIsDatedByIt() throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let triggers = try database.read {
      try String.fetchAll($0, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    }
    let late = try #require(triggers.first { $0.contains("TRIGGER audit_noted_late ") })
    let others = try #require(triggers.first { $0.contains("TRIGGER audit_noted ") })
    let dated = triggers.filter { $0.contains("julianday") }
    #expect(dated.count == 12)
    for trigger in dated where !trigger.contains("TRIGGER audit_session ") {
      let event = try #require(trigger.firstMatch(of: /julianday.* AS INTEGER\), '([a-z ]+)'/)?.1, "\(trigger)")
      #expect(late.contains("'\(event)'") && others.contains("'\(event)'"), "\(event)")
    }
  }

  /// The same in a new database and in an upgraded one, since both run the same migrations.
  @Test func everySettingIsAudited() throws {
    let database = try DatabaseQueue()
    try Schema.migrator.migrate(database)
    let (columns, trigger) = try database.read { db in
      (
        try db.columns(in: "application").map(\.name),
        try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE name LIKE 'audit_settings%'").joined()
      )
    }
    #expect(columns.contains("walkaway"))
    for column in columns where !["id", "name", "secret", "created_at"].contains(column) {
      #expect(trigger.contains("NEW.\(column) IS NOT OLD.\(column)"), "\(column) is not audited")
    }
  }
}
