import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import SessionHelper

/// The helper of a computer whose list administrators' phones sign.
@Suite struct SignedListKeeperTests {
  private final class Lines: HelperLog {
    nonisolated(unsafe) var texts: [String] = []
    func write(_ priority: Int32, _ text: String) { texts.append(text) }
  }

  /// Who signs is tested with the fetch.
  private struct Believing: SignatureVerifier {
    func prepare() {}
    func verifies(_ signature: ECDSASignature, over digest: [UInt8], by key: P256PublicKey) -> Bool { true }
  }

  private static let keyTexts = [
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEkbuvVBn8efH9c4pE/5b3nPaQUylhHK2LdwlUJyyDhdd4sJXuvkteOwycXNoSvmRFqmoGsRFZ2ZdD/SAf26iRYA==",
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/t+8LzdkK/3hhhXI+gXYDjpWR+fsCaEtLfmMGZKmF0dK00H60nwvLzZW+HUwSbRjUsGAj86zs+X6IpALSy7PKg==",
  ]

  private static let fleetName = "administrators.5b3975651c3cab92"

  private let folder: String
  private let service = TestService()
  private let log = Lines()
  private let keeper: UserListKeeper
  private let phones: [PinnedPhone]
  private let set: AdministratorSet

  init() throws {
    folder = "/tmp/iampass-keeper-" + (try #require(Digest.randomIdentifier()))
    phones = try Self.keyTexts.enumerated().map { place, text in
      let key = try #require(P256PublicKey(text))
      return try #require(PinnedPhone(id: "p\(place)", key: key, credential: nil, since: 1, name: "phone"))
    }
    set = try #require(AdministratorSet(number: 1, previous: [], keys: [.phone(name: "alice", phones[0])]))
    let anchor = try #require(FleetAnchor(administrators: set, application: "app", group: ""))
    _ = try Fleet(credential: "own", anchor: anchor).write(in: RunFolder(path: folder))
    keeper = UserListKeeper(log: log, verifier: Believing())
    adopt(at: 0)
  }

  private var place: UserListKeeper.Place {
    UserListKeeper.Place(
      path: folder + "/service/users", state: RunFolder(path: folder), credential: "own", origin: "https://h")
  }

  private func adopt(at now: Int64) { keeper.adopt(place, at: now) }

  private func proof(of document: SignedDocument) throws -> DocumentProof {
    let statement = AnswerStatement(
      origin: "https://h", device: "p0", session: "s", answer: .approve,
      contextHash: ShownContext.hash(document.context), nonce: "n", expires: 1,
      challenge: document.challenge,
      document: Digest.hexadecimal(document.digest))
    return try DocumentProof(
      .object([
        "phone": .string("p0"), "statement": statement.json,
        "signature": .string(Base64.encode([UInt8](repeating: 1, count: 64))),
      ]))
  }

  private func list(
    _ names: [String], _ number: Int64, phone: PinnedPhone? = nil, under: AdministratorSet? = nil
  ) throws -> ServiceOutcome {
    let lines = try names.map { name in
      try #require(UserListLine(name: name, phones: phone.map { [$0] } ?? [], token: Secret("t-" + name)))
    }
    let digest = try #require(UserListLine.digest(of: lines))
    let head = try #require(
      UserListHead(
        application: "app", epoch: 1, number: number, administrators: (under ?? set).digest, previous: [],
        lists: [UserListHead.List(group: "", count: Int64(lines.count), digest: digest)]))
    return .signedUsers(
      SignedListPage(
        reply: SignedUserListReply(
          credential: "own", epoch: 1, number: number, since: 0, changes: lines.map { .listed($0) }, hasMore: false,
          head: head, proof: try proof(of: .users(head))), isHeld: true))
  }

  private func sets(_ sets: [AdministratorSet]) throws -> ServiceOutcome {
    .signedUsers(
      SignedListPage(
        reply: SignedUserListReply(
          credential: "own",
          administrators: try sets.map {
            SignedAdministratorSet(set: $0, proof: try proof(of: .administrators($0)))
          }), isHeld: false))
  }

  /// Lets the keeper ask and hear until nothing more comes.
  private func work(at now: Int64) {
    service.now = now
    while let due = keeper.due, due <= now, !service.toUsers.isEmpty {
      keeper.turn(service, now)
      for (ticket, outcome) in service.outcomes() {
        #expect(keeper.took(ticket, outcome, PollingSchedule(), now))
      }
    }
  }

  private var kept: SignedUsers? { SignedUsers(place.signed, credential: "own") }

  @Test func aSignedListIsAskedForAndKeptWithItsPhones() throws {
    service.toUsers = [try list(["bob"], 3, phone: phones[1]), try list(["bob", "carol"], 4, phone: nil)]
    work(at: 1)
    #expect(kept?.lines["bob"]?.phones == [phones[1]])
    work(at: 1_001)
    #expect(service.usersAsked.map(\.since) == [0, 3])
    #expect(service.usersAsked.map(\.signed?.epoch) == [0, 1])
    #expect(kept.map { Set($0.lines.keys) } == ["bob", "carol"])
    #expect(log.texts.last?.contains("removed_phones=bob:p1") == true)
  }

  @Test func aSetIsKeptBeforeTheNextQuestion() throws {
    let second = try #require(AdministratorSet(number: 2, previous: set.digest, keys: set.keys))
    service.toUsers = [try sets([second]), try list(["bob"], 3, under: second)]
    work(at: 1)
    #expect(service.usersAsked.map(\.signed?.administrators) == [1, 2])
    #expect(try Fleet.kept(in: folder + "/service", credential: "own")?.administrators == second)
    #expect(kept?.lines.count == 1)
  }

  @Test func anUnsignedListIsNotTaken() throws {
    service.toUsers = [
      .users(
        UserListPage(
          reply: UserListReply(
            credential: "own", version: 9, since: 0, count: 1, changes: [.listed(name: "eve", token: Secret("t"))],
            hasMore: false), epoch: 1, isHeld: true))
    ]
    work(at: 1)
    #expect(kept == nil && ServiceUsers(path: place.path, credential: "own") == nil)
    #expect(keeper.due == 1_001)
  }

  @Test func whatNobodyHasSignedIsWaitedFor() throws {
    service.toUsers = [try sets([]), try list(["bob"], 3)]
    work(at: 1)
    #expect(log.texts.last?.contains("no administrator has signed it yet") == true)
    work(at: 5_001)
    #expect(kept?.lines.count == 1)
  }

  @Test func withADamagedFileOfAdministratorsNothingIsAsked() throws {
    try AtomicFile.write(Array("x".utf8), to: folder + "/service/" + Self.fleetName, mode: 0o644)
    adopt(at: 0)
    service.toUsers = [try list(["bob"], 3)]
    keeper.turn(service, 1)
    #expect(service.usersAsked.isEmpty && keeper.due == 60_001)
    #expect(log.texts.last?.contains("is damaged") == true)
  }

  /// As after a join by a code that names no administrators.
  @Test func underAnotherCredentialNothingIsAskedUntilTheAdministratorsAreGivenUp() throws {
    let path = folder + "/service/users"
    let other = UserListKeeper.Place(path: path, state: RunFolder(path: folder), credential: "new", origin: "https://h")
    service.toUsers = [
      .users(
        UserListPage(
          reply: UserListReply(
            credential: "new", version: 9, since: 0, count: 1, changes: [.listed(name: "eve", token: Secret("t"))],
            hasMore: false), epoch: 1, isHeld: true))
    ]
    keeper.adopt(other, at: 0)
    keeper.turn(service, 1)
    #expect(service.usersAsked.isEmpty && keeper.due == 60_001)
    #expect(log.texts.last?.contains("administrators signed the list for another credential") == true)
    try Fleet.believeService(as: "new", in: RunFolder(path: folder))
    work(at: 60_001)
    #expect(service.usersAsked.map { $0.signed == nil } == [true])
    #expect(ServiceUsers(path: path, credential: "new")?.tokens.count == 1)
  }

  @Test func aRefusedListLeavesTheLastOne() throws {
    service.toUsers = [try list(["bob"], 3), try list(["eve"], 2)]
    work(at: 1)
    work(at: 1_001)
    #expect(kept.map { Set($0.lines.keys) } == ["bob"])
    #expect(keeper.due == 61_001)
  }
}
