import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState

/// Signed lists that are right, and those that a broken service could make of them.
@Suite struct SignedListFetchTests {
  private let office: SigningFixture
  private var folder: String { office.folder }
  private var state: RunFolder { office.state }

  init() throws { office = try SigningFixture() }

  private struct NotDone: Error {}

  private func refusal(_ step: SignedListFetch.Step) -> SignedListFetch.Refusal? {
    if case .refused(let reason) = step { reason } else { nil }
  }

  private func done(_ step: SignedListFetch.Step) throws -> SignedUsers {
    guard case .done(let users, _, _) = step else { throw NotDone() }
    return users
  }

  /// A computer that has this list.
  private func keep(_ lines: [UserListLine], _ number: Int64 = 7, epoch: Int64 = 1) throws {
    var fetch = office.fetch()
    #expect(try done(fetch.took(office.page(lines, number, epoch: epoch))).write(in: state))
  }

  private var kept: SignedUsers? { SignedUsers(office.place, credential: "own") }

  @Test func aSignedListIsTakenAndKept() throws {
    let lines = [
      try SigningFixture.line("bob", [try SigningAdministrator.phone("p1"), try SigningAdministrator.phone("p2")]),
      try SigningFixture.line("carol"),
    ]
    var fetch = office.fetch()
    #expect(
      fetch.next
        == UserListQuestion(since: 0, after: "", signed: UserListQuestion.Signed(epoch: 0, administrators: 1)))
    let users = try done(fetch.took(office.page(lines, 7)))
    #expect(try users.write(in: state))
    #expect(kept == users && kept?.lines["bob"] == lines[0])
    #expect(ServiceUsers(path: folder + "/service/users", credential: "own")?.tokens.count == 2)
    fetch = office.fetch()
    #expect(fetch.next.since == 7 && fetch.next.signed?.epoch == 1)
  }

  @Test func aChangeIsAppliedAndNamesWhoAndWhatWent() throws {
    let phone = try SigningAdministrator.phone("p1")
    let bob = try SigningFixture.line("bob", [phone])
    let carol = try SigningFixture.line("carol")
    try keep([bob, carol])
    let without = try SigningFixture.line("bob")
    var fetch = office.fetch()
    let step = fetch.took(
      try office.page([.listed(without), .removed(name: "carol")], since: 7, of: try office.head([without], 8)))
    guard case .done(let users, let removed, let lost) = step else { throw NotDone() }
    #expect(Array(users.lines.values) == [without])
    #expect(removed == ["carol"] && lost == ["bob:p1"])
  }

  @Test func pagesMakeOneList() throws {
    let lines = try ["a", "b", "c"].map { try SigningFixture.line($0) }
    let head = try office.head(lines, 7)
    var fetch = office.fetch()
    for (place, line) in lines.enumerated() {
      let page = try office.page(
        [.listed(line)], hasMore: place < 2, of: head, isFirst: place == 0)
      let step = fetch.took(page)
      guard place < 2 else {
        #expect(try done(step).lines.count == 3)
        return
      }
      guard case .ask(let next) = step else { throw NotDone() }
      #expect(next.after == line.name)
    }
  }

  @Test func nothingNewIsNotAChange() throws {
    try keep([try SigningFixture.line("bob")])
    var fetch = office.fetch()
    let page = SignedListPage(
      reply: SignedUserListReply(
        credential: "own", epoch: 1, number: 7, since: 7, changes: [], hasMore: false, head: nil, proof: nil),
      isHeld: true)
    guard case .unchanged = fetch.took(page) else { throw NotDone() }
    // A computer without a list does not take that for one.
    var other = try SigningFixture().fetch()
    #expect(refusal(other.took(page)) == .notSigned)
  }

  @Test func withoutASignatureNothingIsTaken() throws {
    var fetch = office.fetch()
    guard case .nothingSigned = fetch.took(SigningFixture.sets([])) else { throw NotDone() }
  }

  @Test func aListThatIsCutOrHasAnotherUserIsRefused() throws {
    let bob = try SigningFixture.line("bob")
    let head = try office.head([bob], 7)
    let others: [[SignedUserListReply.Change]] = [
      [], [.listed(try SigningFixture.line("bob", [try SigningAdministrator.phone("p1")]))],
      [.listed(try SigningFixture.line("eve"))], [.listed(bob), .listed(try SigningFixture.line("eve"))],
    ]
    for changes in others {
      var fetch = office.fetch()
      #expect(refusal(fetch.took(try office.page(changes, of: head))) == .otherUsers)
    }
  }

  @Test func aChangeThatDoesNotFitAsksForTheWholeList() throws {
    try keep([try SigningFixture.line("bob")])
    var fetch = office.fetch()
    let carol = try SigningFixture.line("carol")
    let step = fetch.took(try office.page([.listed(carol)], since: 7, of: try office.head([carol], 8)))
    guard case .ask(let next) = step else { throw NotDone() }
    #expect(next.since == 0 && next.signed?.epoch == 0)
  }

  @Test func anOlderListIsRefused() throws {
    let bob = try SigningFixture.line("bob")
    try keep([bob], 7, epoch: 2)
    for (number, epoch) in [(6, 2), (8, 1)] as [(Int64, Int64)] {
      var fetch = office.fetch()
      #expect(refusal(fetch.took(try office.page([bob], number, epoch: epoch))) == .older)
    }
    var fetch = office.fetch()
    #expect(try done(fetch.took(office.page([bob], 1, epoch: 3))).version == UserListVersion(epoch: 3, number: 1))
  }

  /// Two phones may have signed one number, if the service told them of different lists.
  @Test func anotherListOfTheSameVersionIsNotTaken() throws {
    let (bob, eve) = (try SigningFixture.line("bob"), try SigningFixture.line("eve"))
    try keep([bob], 7)
    for lines in [[bob, eve], [bob]] {
      var fetch = office.fetch()
      guard case .unchanged = fetch.took(try office.page(lines, 7)) else {
        Issue.record("taken")
        continue
      }
    }
  }

  @Test func aListOfAnotherApplicationOrGroupIsRefused() throws {
    let eve = try SigningFixture.line("eve")
    var fetch = office.fetch()
    let other = try office.head([eve], 7, application: "other")
    #expect(refusal(fetch.took(try office.page([.listed(eve)], of: other))) == .otherApplication)
    fetch = office.fetch()
    let lab = try office.head([eve], 7, group: "lab")
    #expect(refusal(fetch.took(try office.page([.listed(eve)], of: lab))) == .otherUsers)
  }

  @Test func aListThatAStrangerSignedIsRefused() throws {
    var fetch = office.fetch()
    let page = try office.page([try SigningFixture.line("eve")], 7, signer: try SigningAdministrator("eve"))
    #expect(refusal(fetch.took(page)) == .badProof(.approval(.otherPhone)))
  }

  @Test func aProofOfAnotherListOrOfASignInIsRefused() throws {
    let bob = try SigningFixture.line("bob")
    let head = try office.head([bob], 7)
    let other = try office.alice.proof(of: .users(try office.head([bob], 8)))
    var fetch = office.fetch()
    let page = try office.page([.listed(bob)], of: head, proof: other)
    #expect(refusal(fetch.took(page)) == .badProof(.approval(.challenge)))
    let signIn = try office.alice.proof(of: .users(head), context: SignInContext(host: "desk-7", service: "sudo"))
    fetch = office.fetch()
    #expect(
      refusal(fetch.took(try office.page([.listed(bob)], of: head, proof: signIn))) == .badProof(.approval(.context)))
  }

  @Test func setsAreFollowedOneByOne() throws {
    let carol = try SigningAdministrator("carol")
    let second = try #require(AdministratorSet(number: 2, previous: office.set.digest, keys: [carol.entry]))
    let third = try #require(
      AdministratorSet(number: 3, previous: second.digest, keys: [carol.entry, office.alice.entry]))
    var fetch = office.fetch()
    let step = fetch.took(
      SigningFixture.sets([
        (second, try office.alice.proof(of: .administrators(second))),
        (third, try carol.proof(of: .administrators(third))),
      ]))
    guard case .administrators(let fleet) = step else { throw NotDone() }
    #expect(fleet.administrators == third && fetch.next.signed?.administrators == 3)
    #expect(try fleet.write(in: state) == fleet)
    #expect(try Fleet.kept(in: folder + "/service", credential: "own") == fleet)
    // A set never goes back.
    #expect(try office.fleet.write(in: state) == fleet)
    let lines = [try SigningFixture.line("bob")]
    #expect(try done(fetch.took(office.page(lines, 7, under: third, signer: carol))).lines.count == 1)
  }

  /// The sets that carol and alice made of the first one, and a computer that has the last of them.
  private struct Chain {
    let carol: SigningAdministrator
    let sets: [AdministratorSet]
    let fleet: Fleet

    init(_ office: SigningFixture, keeps alice: Bool = true) throws {
      carol = try SigningAdministrator("carol")
      let second = try #require(
        AdministratorSet(number: 2, previous: office.set.digest, keys: [carol.entry, office.alice.entry]))
      let keys = alice ? [carol.entry, office.alice.entry] : [carol.entry]
      let third = try #require(AdministratorSet(number: 3, previous: second.digest, keys: keys))
      sets = [office.set, second, third]
      fleet = Fleet(
        credential: "own",
        anchor: try #require(FleetAnchor(administrators: third, application: "app", group: "office")))
    }
  }

  @Test func aListOfAnEarlierSetCountsWhileItsSignerIsThere() throws {
    let chain = try Chain(office)
    let lines = [try SigningFixture.line("bob")]
    var fetch = office.fetch(chain.fleet)
    let page = try office.page(lines, 7, under: chain.sets[0], after: Array(chain.sets.prefix(2)))
    #expect(try done(fetch.took(page)).lines.count == 1)
  }

  @Test func aListOfASetThatDoesNotLeadHereIsRefused() throws {
    let chain = try Chain(office)
    let lines = [try SigningFixture.line("bob")]
    let stranger = try #require(
      AdministratorSet(number: 1, previous: [], keys: [office.alice.entry, try SigningAdministrator("eve").entry]))
    let bad: [(AdministratorSet, [AdministratorSet])] = [
      (chain.sets[0], []), (chain.sets[0], [chain.sets[0]]), (chain.sets[0], Array(chain.sets[1...1])),
      (stranger, []), (stranger, [stranger, chain.sets[1]]), (stranger, Array(chain.sets.prefix(2))),
    ]
    for (set, former) in bad {
      var fetch = office.fetch(chain.fleet)
      #expect(refusal(fetch.took(try office.page(lines, 7, under: set, after: former))) == .badProof(.otherSet))
    }
  }

  /// Carol is in the set in force, and was not in the one that the list names; alice the other way.
  @Test func theSignerIsInBothSets() throws {
    let lines = [try SigningFixture.line("bob")]
    for (keeps, isAlice) in [(true, false), (false, true)] {
      let chain = try Chain(office, keeps: keeps)
      var fetch = office.fetch(chain.fleet)
      let page = try office.page(
        lines, 7, under: chain.sets[0], after: Array(chain.sets.prefix(2)), signer: isAlice ? nil : chain.carol)
      #expect(refusal(fetch.took(page)) == .badProof(.approval(.otherPhone)))
    }
  }

  @Test func aSetThatNobodyOfTheOneBeforeSignedIsRefused() throws {
    let eve = try SigningAdministrator("eve")
    let second = try #require(AdministratorSet(number: 2, previous: office.set.digest, keys: [eve.entry]))
    let third = try #require(AdministratorSet(number: 3, previous: second.digest, keys: [eve.entry]))
    let bad: [(SignedListPage, DocumentRefusal)] = [
      (SigningFixture.sets([(second, try eve.proof(of: .administrators(second)))]), .approval(.otherPhone)),
      (SigningFixture.sets([(third, try office.alice.proof(of: .administrators(third)))]), .notNext),
      (SigningFixture.sets([(office.set, nil)]), .approval(.missing)),
    ]
    for (page, reason) in bad {
      var fetch = office.fetch()
      #expect(refusal(fetch.took(page)) == .badAdministrators(reason))
    }
  }

  @Test func aRemovedAdministratorSignsNoList() throws {
    let carol = try SigningAdministrator("carol")
    let second = try #require(AdministratorSet(number: 2, previous: office.set.digest, keys: [carol.entry]))
    let anchor = try #require(FleetAnchor(administrators: second, application: "app", group: "office"))
    var fetch = office.fetch(Fleet(credential: "own", anchor: anchor))
    let page = try office.page([try SigningFixture.line("bob")], 7, under: second)
    #expect(refusal(fetch.took(page)) == .badProof(.approval(.otherPhone)))
  }

  @Test func entriesOutOfOrderAndEmptyPagesAreRefused() throws {
    let lines = try ["a", "b"].map { try SigningFixture.line($0) }
    let head = try office.head(lines, 7)
    var fetch = office.fetch()
    #expect(refusal(fetch.took(try office.page(lines.reversed().map { .listed($0) }, of: head))) == .badEntry)
    fetch = office.fetch()
    #expect(refusal(fetch.took(try office.page([], hasMore: true, of: head))) == .badEntry)
  }

  @Test func aListThatGrowsAndGrowsFillsNoMemory() throws {
    let phones = try (0..<4).map { try SigningAdministrator.phone("p\($0)" + String(repeating: "x", count: 120)) }
    let head = try office.head([], 7)
    var fetch = office.fetch()
    var last: SignedListFetch.Refusal?
    for page in 0..<40 where last == nil {
      let changes = try (0..<1_000).map { number in
        SignedUserListReply.Change.listed(try SigningFixture.line("u\(100_000 + page * 1_000 + number)", phones))
      }
      last = refusal(fetch.took(try office.page(changes, hasMore: true, of: head, isFirst: page == 0)))
    }
    #expect(last == .tooMany)
  }

  @Test func aListThatAlwaysChangesIsGivenUp() throws {
    let line = try SigningFixture.line("a")
    var fetch = office.fetch()
    var last: SignedListFetch.Refusal?
    for number in Int64(1)...20 where last == nil {
      let isFirst = fetch.next.after.isEmpty
      last = refusal(
        fetch.took(
          try office.page(
            [.listed(isFirst ? line : try SigningFixture.line("b"))], hasMore: true,
            of: try office.head([line], number), isFirst: isFirst)))
    }
    #expect(last == .neverEnds)
  }

  @Test func writingThatWasBrokenOffKeepsNoLowerList() throws {
    let phone = try SigningAdministrator.phone("p1")
    let bob = try SigningFixture.line("bob", [phone])
    try keep([bob], 7)
    let former = try SecureFile.read(folder + "/service/users", privacy: .secret, limit: 65_536)
    try keep([try SigningFixture.line("bob")], 9)
    // The phones of the newer list are there, and the users of the older.
    try AtomicFile.write(former, to: folder + "/service/users", mode: 0o600)
    #expect(kept == nil)
    var fetch = office.fetch()
    #expect(fetch.next.since == 0)
    #expect(refusal(fetch.took(try office.page([bob], 8))) == .older)
    fetch = office.fetch()
    #expect(try done(fetch.took(office.page([try SigningFixture.line("bob")], 9))).write(in: state))
    #expect(kept?.version == UserListVersion(epoch: 1, number: 9))
  }

  @Test func anOlderListIsNotWrittenOverANewer() throws {
    let bob = try SigningFixture.line("bob")
    var fetch = office.fetch()
    let older = try done(fetch.took(office.page([bob], 7)))
    try keep([bob], 8)
    #expect(try !older.write(in: state))
    #expect(kept?.version.number == 8)
  }
}
