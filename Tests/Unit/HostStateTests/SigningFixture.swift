import DeviceProtocol
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

/// An administrator's phone that signs documents by tap, and what it signs.
struct SigningAdministrator {
  static let origin = "https://iam.example"

  let name: String
  let key: DeviceKey
  let phone: PinnedPhone

  init(_ name: String) throws {
    self.name = name
    key = try DeviceKey.generate()
    phone = try Self.phone("phone-of-" + name, key)
  }

  static func phone(_ id: String, _ key: DeviceKey? = nil) throws -> PinnedPhone {
    let own = try #require(P256PublicKey(try (key ?? DeviceKey.generate()).publicKey.text))
    return try #require(PinnedPhone(id: id, key: own, credential: nil, since: 1, name: "phone"))
  }

  var entry: AdministratorSet.Key { .phone(name: name, phone) }

  func proof(of document: SignedDocument, context: SignInContext? = nil) throws -> DocumentProof {
    let statement = AnswerStatement(
      origin: Self.origin, device: phone.id, session: "s", answer: .approve,
      contextHash: ShownContext.hash(context ?? document.context), nonce: "n", expires: 1,
      challenge: document.challenge, document: Digest.hexadecimal(document.digest)
    ).json
    let signature = try key.signature(over: statement.canonicallyEncoded())
    return try DocumentProof(
      .object([
        "phone": .string(phone.id), "statement": statement, "signature": .string(Base64.encode(signature)),
      ]))
  }
}

/// A service whose administrator alice signs lists, for the computer `own` of the group `office`, which keeps them in a
/// folder of the test's own.
struct SigningFixture {
  private let temporary: TemporaryFolder
  let alice: SigningAdministrator
  let set: AdministratorSet
  let fleet: Fleet

  init() throws {
    temporary = try TemporaryFolder()
    alice = try SigningAdministrator("alice")
    set = try #require(AdministratorSet(number: 1, previous: [], keys: [alice.entry]))
    fleet = Fleet(
      credential: "own",
      anchor: try #require(FleetAnchor(administrators: set, application: "app", group: "office")))
  }

  /// Where the computer keeps what outlives a start.
  var folder: String { temporary.path }
  var state: RunFolder { RunFolder(path: folder) }

  static func line(_ name: String, _ phones: [PinnedPhone] = []) throws -> UserListLine {
    try #require(UserListLine(name: name, phones: phones, token: Secret("token-" + name)))
  }

  func head(
    _ lines: [UserListLine], _ number: Int64, epoch: Int64 = 1, application: String = "app", group: String = "office",
    under set: AdministratorSet? = nil
  ) throws -> UserListHead {
    let digest = try #require(UserListLine.digest(of: lines))
    let list = UserListHead.List(group: group, count: Int64(lines.count), digest: digest)
    let all = UserListHead.List(group: "", count: 0, digest: Digest.sha256([]))
    return try #require(
      UserListHead(
        application: application, epoch: epoch, number: number, administrators: (set ?? self.set).digest, previous: [],
        lists: [all, list]))
  }

  /// The only page of a list, signed by alice or another.
  func page(
    _ lines: [UserListLine], _ number: Int64, epoch: Int64 = 1, under set: AdministratorSet? = nil,
    after former: [AdministratorSet] = [], signer: SigningAdministrator? = nil
  ) throws -> SignedListPage {
    try page(
      lines.map { .listed($0) }, of: try head(lines, number, epoch: epoch, under: set), after: former, signer: signer)
  }

  func page(
    _ changes: [SignedUserListReply.Change], since: Int64 = 0, hasMore: Bool = false, of head: UserListHead,
    after former: [AdministratorSet] = [], proof: DocumentProof? = nil, signer: SigningAdministrator? = nil,
    isFirst: Bool = true
  ) throws -> SignedListPage {
    SignedListPage(
      reply: SignedUserListReply(
        credential: "own", epoch: head.epoch, number: head.number, since: since, changes: changes, hasMore: hasMore,
        head: isFirst ? head : nil, proof: isFirst ? try proof ?? (signer ?? alice).proof(of: .users(head)) : nil,
        formerSets: former),
      isHeld: true)
  }

  static func sets(_ sets: [(AdministratorSet, DocumentProof?)]) -> SignedListPage {
    SignedListPage(
      reply: SignedUserListReply(
        credential: "own", administrators: sets.map { SignedAdministratorSet(set: $0.0, proof: $0.1) }), isHeld: false)
  }

  /// What is kept of the list.
  var place: SignedUsers.Place { SignedUsers.Place(folder: folder + "/service") }

  func fetch(_ fleet: Fleet? = nil) -> SignedListFetch {
    SignedListFetch(
      known: SignedListFetch.Known(place, credential: "own"),
      fleet: fleet ?? self.fleet, origin: SigningAdministrator.origin, verifier: LibcryptoVerifier())
  }
}
