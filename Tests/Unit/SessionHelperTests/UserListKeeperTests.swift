import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import SessionHelper

/// The helper keeps the service's list of users in a file.
@Suite struct UserListKeeperTests {
  private final class Lines: HelperLog {
    nonisolated(unsafe) var texts: [String] = []
    func write(_ priority: Int32, _ text: String) { texts.append(text) }
  }

  private let folder: String
  private let service = TestService()
  private let log = Lines()
  private let keeper: UserListKeeper

  init() throws {
    folder = "/tmp/iampass-keeper-" + (try #require(Digest.randomIdentifier()))
    keeper = UserListKeeper(log: log)
    adopt(at: 0)
  }

  private var path: String { folder + "/service/users" }

  private func adopt(at now: Int64) {
    keeper.adopt(
      UserListKeeper.Place(path: path, state: RunFolder(path: folder), credential: "own"), at: now)
  }

  private func page(_ names: [String], version: Int64, since: Int64 = 0, count: Int? = nil) -> ServiceOutcome {
    .users(
      UserListPage(
        reply: UserListReply(
          credential: "own", version: version, since: since, count: Int64(count ?? names.count),
          changes: names.map { .listed(name: $0, token: Secret("t-\($0)")) }, hasMore: false), epoch: 1, isHeld: true))
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

  private var kept: ServiceUsers? { ServiceUsers(path: path, credential: "own") }

  @Test func theListIsFetchedAndThenAskedForByItsVersion() {
    service.toUsers = [page(["alice"], version: 3), page(["bob"], version: 4, since: 3, count: 2)]
    work(at: 1)
    work(at: 1_001)
    #expect(service.usersAsked.map(\.since) == [0, 3])
    #expect(kept.map { Set($0.tokens.keys) } == ["alice", "bob"])
    #expect(keeper.due == 2_001)
  }

  @Test func aServiceThatHeldTheQuestionIsAskedAgainAtOnce() {
    service.toUsers = [page(["alice"], version: 3), page([], version: 3, since: 3, count: 1)]
    work(at: 1)
    service.now = 1_001
    keeper.turn(service, 1_001)
    service.now = 21_001
    for (ticket, outcome) in service.outcomes() { _ = keeper.took(ticket, outcome, PollingSchedule(), 21_001) }
    #expect(keeper.due == 21_001)
  }

  @Test func aBrokenServiceKeepsTheHelperNotBusy() {
    // It says that it held what it answered at once.
    service.toUsers = [page(["alice"], version: 3), page([], version: 3, since: 3, count: 1)]
    work(at: 1)
    work(at: 1_001)
    #expect(keeper.due == 6_001)
    // It counts wrongly: the list is fetched as a whole, over and over.
    let wrong = page([], version: 3, since: 3, count: 9)
    service.toUsers = [wrong, page(["alice"], version: 3), wrong, page(["alice"], version: 3)]
    work(at: 6_001)
    #expect(service.toUsers.count == 2)
    #expect(keeper.due == 11_001)
  }

  @Test func whatTheJoinWroteMeanwhileIsKept() throws {
    service.toUsers = [page(["alice"], version: 3)]
    work(at: 1)
    service.toUsers = [page(["bob"], version: 4, since: 3, count: 2), page([], version: 5, since: 5, count: 2)]
    service.now = 1_001
    keeper.turn(service, 1_001)
    let path = path
    let newer = "# iampass users for=own epoch=1 version=5\nalice:t-alice\ncarol:t-carol\n"
    try AtomicFile.write(Array(newer.utf8), to: path, mode: 0o600)
    for (ticket, outcome) in service.outcomes() { _ = keeper.took(ticket, outcome, PollingSchedule(), 1_001) }
    work(at: 2_001)
    #expect(service.usersAsked.map(\.since) == [0, 3, 5])
    #expect(kept.map { Set($0.tokens.keys) } == ["alice", "carol"])
  }

  /// The service would say for good that nothing has changed since the version in memory.
  @Test(
    arguments: [
      (nil, 0), ("nonsense\n", 0), ("# iampass users for=own epoch=1 version=2\nalice:t-earlier\n", 2),
    ] as [(String?, Int64)])
  func aFileThatIsLostOrAnEarlierOneIsFetchedAgain(text: String?, since: Int64) throws {
    service.toUsers = [page(["alice"], version: 3)]
    work(at: 1)
    let path = path
    try #require(unlink(path) == 0)
    if let text { try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600) }
    service.toUsers = [page(["alice"], version: 3, since: since)]
    work(at: 1_001)
    #expect(service.usersAsked.map(\.since) == [0, since])
    #expect(kept?.version.number == 3)
    #expect(kept.map { Set($0.tokens.keys) } == ["alice"])
  }

  @Test func afterARestartItGoesOnFromTheFile() {
    service.toUsers = [page(["alice"], version: 3)]
    work(at: 1)
    adopt(at: 2)
    service.toUsers = [page([], version: 3, since: 3, count: 1)]
    work(at: 2)
    #expect(service.usersAsked.last?.since == 3)
    #expect(service.usersAsked.last?.after == "")
  }

  @Test func withoutTheServiceTheLastListStays() {
    service.toUsers = [page(["alice"], version: 3), .failed(.serverFailed(status: 503))]
    work(at: 1)
    work(at: 1_001)
    #expect(kept.map { Set($0.tokens.keys) } == ["alice"])
    #expect(keeper.due ?? 0 > 1_001)
  }

  @Test func aRefusedListIsSaidOnceAndTheLastOneStays() {
    service.toUsers = [page(["alice"], version: 3), page(["mallory"], version: 2)]
    work(at: 1)
    work(at: 1_001)
    service.toUsers = [page(["mallory"], version: 2)]
    work(at: 70_000)
    #expect(kept.map { Set($0.tokens.keys) } == ["alice"])
    #expect(log.texts.count { $0.contains("not taken: its version is older") } == 1)
  }

  @Test func usersOfAFileAreNotAskedFor() {
    keeper.adopt(nil, at: 5)
    keeper.turn(service, 5)
    #expect(keeper.due == nil)
    #expect(service.usersAsked.isEmpty)
  }

  // The mark

  private var sent: [UserListQuestion.Mark?] { service.usersAsked.map(\.mark) }

  @Test func theMarkIsToldUntilItIsConfirmedAndRenewedByANewConnection() throws {
    service.toUsers = [.failed(.notFound), page(["alice"], version: 3), page([], version: 3, since: 3, count: 1)]
    work(at: 1)
    let first = try #require(sent[0]?.mark)
    #expect(sent[0]?.former == nil)
    work(at: 600_000)
    work(at: 1_200_000)
    // It had no answer: the same is told again. Then it is known.
    #expect(sent.map { $0?.mark } == [first, first, first])
    #expect(sent[2]?.former == nil)
    service.toUsers = [page([], version: 3, since: 3, count: 1)]
    adopt(at: 2_000_000)
    work(at: 2_000_000)
    #expect(sent[3]?.former == first)
    #expect(sent[3]?.mark != first)
  }

  @Test func aCopiedFolderRenewsTheSameMarkToAnother() throws {
    service.toUsers = [page(["alice"], version: 3)]
    work(at: 1)
    let known = try #require(sent[0]?.mark)
    let marks = [
      ComputerMark(in: RunFolder(path: folder), credential: "own"),
      ComputerMark(in: RunFolder(path: folder), credential: "own"),
    ]
    #expect(marks.map(\.confirmed) == [known, known])
    #expect(ComputerMark(in: RunFolder(path: folder), credential: "another's").sent == nil)
  }

  @Test func aMarkThatCannotBeKeptIsNotTold() throws {
    service.toUsers = [page(["alice"], version: 3)]
    work(at: 1)
    let known = sent[0]?.mark
    try #require(unlink(folder + "/service/mark") == 0)
    try #require(mkdir(folder + "/service/mark", 0o700) == 0)
    defer { rmdir(folder + "/service/mark") }
    let kept = try #require(known)
    service.toUsers = [.failed(.notFound), page([], version: 3, since: 3, count: 1)]
    work(at: 1_001)
    work(at: 600_000)
    #expect(sent.dropFirst().map { $0?.mark } == [kept, kept])
    #expect(log.texts.contains { $0.contains("the mark by which a copied computer is noticed is not kept") })
  }
}
