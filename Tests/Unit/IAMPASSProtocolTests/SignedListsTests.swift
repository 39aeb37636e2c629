import Foundation
import IAMPASSProtocol
import Testing

/// What administrators' phones sign, against texts and digests that Python made (signed-lists.json).
@Suite struct SignedListsTests {
  private let vectors: JSON

  init() throws {
    let url = try #require(Bundle.module.url(forResource: "signed-lists", withExtension: "json"))
    vectors = try JSON(parsing: Array(try Data(contentsOf: url)))
  }

  private func text(_ name: String) -> String { vectors[name]?.string ?? "" }
  private var set: AdministratorSet { get throws { try AdministratorSet(vectors["set"] ?? .null) } }
  private var head: UserListHead { get throws { try UserListHead(vectors["head"] ?? .null) } }
  private var lines: [UserListLine] {
    get throws { try (vectors["lines"]?.array ?? []).map { json in try UserListLine(json) } }
  }

  /// The JSON with a member replaced, or taken out by nil.
  private func with(_ json: JSON?, _ name: String, _ value: JSON?) -> JSON {
    guard case .object(let members)? = json else { return .null }
    let rest = members.filter { $0.name != name }
    return .object(rest + (value.map { [JSON.Member(name, $0)] } ?? []))
  }

  @Test func digestsAreThoseThatOthersCompute() throws {
    #expect(Digest.hexadecimal(try set.digest) == text("set_digest"))
    #expect(Digest.hexadecimal(try head.digest) == text("head_digest"))
    #expect(UserListLine.digest(of: try lines.reversed()).map(Digest.hexadecimal) == text("list_digest"))
    let office = try head.list(of: "office")
    #expect(office.count == 1 && Digest.hexadecimal(office.digest) == text("office_digest"))
    let anchor = FleetAnchor(administrators: try set, application: "app-1", group: "office")
    #expect(anchor.map { Digest.hexadecimal($0.digest) } == text("anchor_digest"))
  }

  @Test func theContextIsOfTheDocumentAlone() throws {
    let documents: [(SignedDocument, String)] = [
      (.administrators(try set), "set"), (.users(try head), "head"),
    ]
    for (document, name) in documents {
      #expect(ShownContext.hash(document.context) == text(name + "_context_hash"))
      #expect(document.context.isWithinBounds && SignedDocument.isAsked(by: document.context))
      #expect(document.challenge.bytes == document.digest)
    }
    #expect(!SignedDocument.isAsked(by: SignInContext(host: "desk-7", service: "sudo", user: "alice")))
    #expect(
      String(decoding: DocumentProof.recoveryText(of: .administrators(try set)), as: UTF8.self) == text("recovery_text")
    )
  }

  @Test func aGroupWithoutUsersHasAnEmptyList() throws {
    let list = try head.list(of: "nobody's")
    #expect(list.count == 0 && list.digest == UserListLine.digest(of: []))
  }

  @Test func aSetOfAnotherSpellingIsRefused() throws {
    let json = vectors["set"]
    let keys = json?["keys"]?.array ?? []
    let bad: [JSON] = [
      with(json, "keys", .array(keys.reversed())), with(json, "keys", .array(keys + keys)),
      with(json, "keys", .array(Array(keys.suffix(1)))), with(json, "keys", .array([])),
      with(json, "more", .bool(true)),
      with(json, "number", .integer(0)), with(json, "number", .integer(2)), with(json, "previous", .string("00")),
      with(json, "previous", nil), with(json, "purpose", .string("iampass-user-list/1")),
      with(json, "keys", .array([with(keys[0], "name", .string("a\u{202E}b")), keys[1]])),
      with(json, "keys", .array([with(keys[0], "phone", .string("phone-1:key:::1:x")), keys[1]])),
      with(json, "keys", .array([with(keys[0], "kind", .string("app")), keys[1]])),
    ]
    for json in bad { #expect(throws: MessageError.self) { try AdministratorSet(json) } }
  }

  @Test func aSetFollowsTheOneWithItsDigestAlone() throws {
    let first = try set
    let next = try #require(AdministratorSet(number: 2, previous: first.digest, keys: first.keys))
    let other = try #require(
      AdministratorSet(number: 2, previous: Digest.sha256([]), keys: first.keys))
    let later = try #require(AdministratorSet(number: 3, previous: first.digest, keys: first.keys))
    #expect(next.follows(first))
    #expect(!other.follows(first) && !later.follows(first) && !first.follows(first) && !first.follows(next))
  }

  @Test func aHeadOfAnotherSpellingIsRefused() throws {
    let json = vectors["head"]
    let lists = json?["lists"]?.array ?? []
    let bad: [JSON] = [
      with(json, "lists", .array(lists.reversed())), with(json, "lists", .array(Array(lists.suffix(1)))),
      with(json, "lists", .array(lists + lists.suffix(1))), with(json, "number", .integer(0)),
      with(json, "administrators", nil), with(json, "administrators", .string("")), with(json, "previous", nil),
      with(json, "previous", .string("00")), with(json, "administrators", .string(text("set_digest").uppercased())),
      with(json, "epoch", .integer(-1)), with(json, "application", .string("a b")), with(json, "more", .null),
      with(json, "lists", .array([with(lists[0], "count", .integer(1_000_000)), lists[1]])),
      with(json, "lists", .array([with(lists[0], "digest", .string("00")), lists[1]])),
      with(json, "lists", .array([lists[0], with(lists[1], "group", .string("root"))])),
    ]
    for json in bad { #expect(throws: MessageError.self) { try UserListHead(json) } }
  }

  private func head(
    _ epoch: Int64, _ number: Int64, after former: UserListHead?, of application: String = "app"
  ) throws -> UserListHead {
    let lists = [UserListHead.List(group: "", count: 0, digest: Digest.sha256([]))]
    return try #require(
      UserListHead(
        application: application, epoch: epoch, number: number, administrators: Digest.sha256([]),
        previous: former?.digest ?? [], lists: lists))
  }

  @Test func aListFollowsTheOneWithItsDigestByAHigherVersionAlone() throws {
    let first = try head(1, 3, after: nil)
    let second = try head(1, 5, after: first)
    #expect(first.follows(nil) && second.follows(first))
    #expect(try head(2, 1, after: second).follows(second))
    #expect(!second.follows(nil) && !first.follows(first))
    let others = [
      try head(1, 6, after: first), try head(1, 5, after: second), try head(0, 9, after: second),
      try head(1, 6, after: second, of: "other"),
    ]
    for other in others { #expect(!other.follows(second)) }
  }

  @Test(arguments: [
    "", "root", "-rf", "a b", "a:b", "../../etc", "a\nroot", "#alice", "ä", String(repeating: "a", count: 65),
  ])
  func aNameThatNoComputerTakesIsRefused(_ name: String) throws {
    let line = try lines[0]
    #expect(UserListLine(name: name, phones: line.phones, token: line.token) == nil)
    #expect(throws: MessageError.self) { try UserListLine(with(vectors["lines"]?.array?[0], "name", .string(name))) }
  }

  @Test func aLineWithAPhoneTwiceOrTooManyIsRefused() throws {
    let phone = try lines[0].phones[0]
    #expect(UserListLine(name: "bob", phones: [phone, phone], token: Secret("t")) == nil)
    let json = with(vectors["lines"]?.array?[0], "phones", .array([.string(phone.fields), .string(phone.fields)]))
    #expect(throws: MessageError.self) { try UserListLine(json) }
    #expect(UserListLine(name: "bob", phones: [phone], token: Secret("a:b")) == nil)
    #expect(UserListLine.digest(of: [try lines[0], try lines[0]]) == nil)
  }

  @Test func pagesAreReadAsTheyWereWritten() throws {
    let proof = try DocumentProof(
      .object([
        "recovery": .string(try #require(try set.keys.last).publicKey.text),
        "signature": .string(Base64.encode([UInt8](repeating: 1, count: 64))),
      ]))
    let first = SignedUserListReply(
      credential: "own", epoch: 2, number: 7, since: 3,
      changes: [.removed(name: "al")] + (try lines.map { .listed($0) }),
      hasMore: true, head: try head, proof: proof, formerSets: [try set])
    let sets = SignedUserListReply(
      credential: "own",
      administrators: [
        SignedAdministratorSet(set: try set, proof: nil), SignedAdministratorSet(set: try set, proof: proof),
      ])
    for page in [first, sets] { #expect(try SignedUserListReply(parsing: page.encoded()) == page) }
    let json = try JSON(parsing: first.encoded())
    let bad: [JSON] = [
      with(json, "proof", nil), with(json, "version", .integer(8)), with(json, "epoch", .integer(3)),
      with(json, "users", .array([.string("+bob:token")])), with(json, "users", .array([.string("-root")])),
      with(json, "since", nil), with(json, "for", nil), with(json, "status", .bool(false)),
      with(json, "former_sets", .array([.null])),
      with(json, "former_sets", .array([JSON](repeating: vectors["set"] ?? .null, count: 65))),
    ]
    for json in bad { #expect(throws: MessageError.self) { try SignedUserListReply(parsing: json.encoded()) } }
  }

  @Test func aFurtherSetNeedsAProof() throws {
    let next = try #require(AdministratorSet(number: 2, previous: try set.digest, keys: try set.keys))
    let json = SignedAdministratorSet(set: next, proof: nil).json
    #expect(throws: MessageError.self) { try SignedAdministratorSet(json) }
  }

  @Test func aCodeNamesTheFleet() throws {
    let code = JoinCode(
      anchor: .certificate, digest: Array(0..<32), secret: Secret(Base64URL.encode(Array(repeating: 7, count: 16))),
      fleet: Array(32..<64))
    let text = code.exposedText
    #expect(text.hasPrefix("IJ2"))
    #expect(JoinCode(text) == code)
    for place in text.indices.dropFirst(3) {
      var wrong = text
      wrong.replaceSubrange(place...place, with: text[place] == "A" ? "B" : "A")
      #expect(JoinCode(wrong) == nil, "\(wrong)")
    }
    #expect(JoinCode("IJ1" + text.dropFirst(3)) == nil)
  }

  @Test func aJoinTellsTheFleet() throws {
    let fleet = FleetAnchor(administrators: try set, application: "app-1", group: "")
    let reply = JoinReply.joined(credential: "id", host: "desk-7", application: "office", fleet: fleet)
    #expect(try JoinReply(parsing: reply.encoded()) == reply)
  }
}
