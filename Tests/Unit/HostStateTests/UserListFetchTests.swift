import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

/// Lists that are right, cut, old, for another computer, and worse.
@Suite struct UserListFetchTests {
  private static func listed(_ name: String, _ token: String = "token") -> UserListReply.Change {
    .listed(name: name, token: Secret(token))
  }

  private func page(
    _ changes: [UserListReply.Change], version: Int64 = 7, since: Int64 = 0, count: Int? = nil, hasMore: Bool = false,
    epoch: Int64 = 1, isHeld: Bool = false
  ) -> UserListPage {
    UserListPage(
      reply: UserListReply(
        credential: "own", version: version, since: since, count: Int64(count ?? changes.count), changes: changes,
        hasMore: hasMore), epoch: epoch, isHeld: isHeld)
  }

  private func known(_ names: [String], version: Int64 = 7, epoch: Int64 = 1) throws -> ServiceUsers {
    var fetch = UserListFetch(known: nil, credential: "own")
    guard case .done(let list, _) = fetch.took(page(names.map { Self.listed($0) }, version: version, epoch: epoch))
    else {
      throw NotDone()
    }
    return list
  }

  private struct NotDone: Error {}

  private func refusal(_ step: UserListFetch.Step) -> UserListFetch.Refusal? {
    if case .refused(let reason) = step { reason } else { nil }
  }

  @Test func aWholeListIsTaken() throws {
    var fetch = UserListFetch(known: nil, credential: "own")
    #expect(fetch.next == UserListQuestion(since: 0, after: ""))
    guard case .done(let list, let removed) = fetch.took(page([Self.listed("alice", "a"), Self.listed("bob", "b")]))
    else {
      throw NotDone()
    }
    #expect(list.tokens == ["alice": Secret("a"), "bob": Secret("b")])
    #expect(list.version == UserListVersion(epoch: 1, number: 7))
    #expect(removed.isEmpty)
  }

  @Test func aChangeIsAppliedAndNamesWhoWent() throws {
    var fetch = UserListFetch(known: try known(["alice", "bob"]), credential: "own")
    #expect(fetch.next.since == 7)
    let step = fetch.took(page([.removed(name: "bob"), Self.listed("carol")], version: 9, since: 7, count: 2))
    guard case .done(let list, let removed) = step else { throw NotDone() }
    #expect(Set(list.tokens.keys) == ["alice", "carol"])
    #expect(removed == ["bob"])
  }

  @Test func pagesMakeOneList() throws {
    var fetch = UserListFetch(known: nil, credential: "own")
    guard case .ask(let next) = fetch.took(page([Self.listed("alice")], count: 2, hasMore: true)) else {
      throw NotDone()
    }
    #expect(next == UserListQuestion(since: 0, after: "alice"))
    guard case .done(let list, _) = fetch.took(page([Self.listed("bob")], count: 2)) else { throw NotDone() }
    #expect(list.tokens.count == 2)
  }

  @Test func nothingNewChangesNothing() throws {
    var fetch = UserListFetch(known: try known(["alice"]), credential: "own")
    guard case .unchanged = fetch.took(page([], since: 7, count: 1, isHeld: true)) else { throw NotDone() }
  }

  @Test func anOlderListIsRefused() throws {
    var fetch = UserListFetch(known: try known(["alice"]), credential: "own")
    #expect(refusal(fetch.took(page([Self.listed("alice"), Self.listed("mallory")], version: 6))) == .older)
    // A service whose history went back, too, however far its list has come.
    fetch = UserListFetch(known: try known(["alice"], epoch: 2), credential: "own")
    #expect(refusal(fetch.took(page([Self.listed("mallory")], version: 99, epoch: 1))) == .older)
  }

  @Test func aRestoredServicesListIsFetchedAsAWhole() throws {
    var fetch = UserListFetch(known: try known(["alice"]), credential: "own")
    guard case .ask(let next) = fetch.took(page([Self.listed("bob")], version: 9, since: 7, count: 2, epoch: 2)) else {
      throw NotDone()
    }
    #expect(next == UserListQuestion(since: 0, after: ""))
    guard case .done(let list, _) = fetch.took(page([Self.listed("bob")], version: 3, epoch: 2)) else {
      throw NotDone()
    }
    #expect(Set(list.tokens.keys) == ["bob"])
  }

  @Test func aListThatIsCutIsRefused() throws {
    var fetch = UserListFetch(known: nil, credential: "own")
    #expect(refusal(fetch.took(page([Self.listed("alice")], count: 2))) == .wrongCount)
    // What changed does not fit: the whole list is asked for.
    fetch = UserListFetch(known: try known(["alice"]), credential: "own")
    guard case .ask(let next) = fetch.took(page([Self.listed("bob")], version: 8, since: 7, count: 9)) else {
      throw NotDone()
    }
    #expect(next.since == 0)
  }

  @Test(arguments: ["", "-rf", "a b", "a:b", "../../etc", "a\nroot", "#alice", "\u{1B}[31m"])
  func anUnfitNameIsRefused(_ name: String) throws {
    var fetch = UserListFetch(known: nil, credential: "own")
    #expect(refusal(fetch.took(page([Self.listed(name)]))) == .badEntry)
  }

  @Test(arguments: ["", "a b", "a:b", "a\nroot:x", String(repeating: "a", count: 513)])
  func anUnfitTokenIsRefused(_ token: String) {
    var fetch = UserListFetch(known: nil, credential: "own")
    #expect(refusal(fetch.took(page([Self.listed("alice", token)]))) == .badEntry)
  }

  @Test func entriesOutOfOrderOrTwiceAreRefused() {
    for names in [["bob", "alice"], ["alice", "alice"]] {
      var fetch = UserListFetch(known: nil, credential: "own")
      #expect(refusal(fetch.took(page(names.map { Self.listed($0) }))) == .badEntry)
    }
  }

  @Test func aMillionUsersAreRefused() {
    var fetch = UserListFetch(known: nil, credential: "own")
    #expect(refusal(fetch.took(page([Self.listed("alice")], count: 1_000_000, hasMore: true))) == .tooMany)
  }

  @Test func aListThatNeverEndsIsGivenUp() {
    var fetch = UserListFetch(known: nil, credential: "own")
    #expect(refusal(fetch.took(page([], count: 5, hasMore: true))) == .badEntry)
    fetch = UserListFetch(known: nil, credential: "own")
    var last: UserListFetch.Refusal?
    for version in Int64(1)...20 where last == nil {
      let isFirst = fetch.next.after.isEmpty
      last = refusal(fetch.took(page([Self.listed(isFirst ? "a" : "b")], version: version, count: 3, hasMore: true)))
    }
    #expect(last == .neverEnds)
  }

  @Test func aListOfEndlessPagesIsGivenUp() {
    var fetch = UserListFetch(known: nil, credential: "own")
    var last: UserListFetch.Refusal?
    for number in 10_000..<20_000 where last == nil {
      last = refusal(fetch.took(page([.removed(name: "u\(number)")], hasMore: true)))
    }
    #expect(last == .tooManyPages)
  }

  @Test func aListThatNoReaderTakesIsRefused() {
    var fetch = UserListFetch(known: nil, credential: "own")
    let token = String(repeating: "t", count: 512)
    var last: UserListFetch.Refusal?
    // 17 MiB with the names.
    for block in 100..<190 where last == nil {
      let users = (100..<490).map { Self.listed("user-\(block)-\($0)", token) }
      last = refusal(fetch.took(page(users, count: 35_100, hasMore: block < 189)))
    }
    #expect(last == .tooLarge)
    let list = ServiceUsers(
      credential: String(repeating: "x", count: UserTokens.greatestSize), version: UserListVersion(epoch: 1, number: 1))
    #expect(throws: FileError.self) { try list.write(in: RunFolder(path: "/tmp/iampass-list-too-large")) }
  }

  @Test func anOlderListTakesNoNewerOnesPlace() throws {
    let folder = "/tmp/iampass-list-" + (try #require(Digest.randomIdentifier()))
    let (older, newer) = (try known(["alice", "bob"]), try known(["alice"], version: 8))
    let path = folder + "/service/users"
    _ = try newer.write(in: RunFolder(path: folder))
    #expect(try older.write(in: RunFolder(path: folder)).version == newer.version)
    #expect(ServiceUsers(path: path, credential: "own")?.tokens == newer.tokens)
    // Another credential's versions are not this one's.
    let other = ServiceUsers(credential: "other", version: UserListVersion(epoch: 1, number: 1))
    _ = try other.write(in: RunFolder(path: folder))
    #expect(ServiceUsers(path: path, credential: "other") != nil)
    // Another writer is waited for.
    let lock = try EditorLock(of: path)
    #expect(throws: FileError.self) { try newer.write(in: RunFolder(path: folder)) }
    withExtendedLifetime(lock) {}
  }

  @Test func whatIsKeptIsReadAgainByItsOwnComputerAlone() throws {
    let folder = "/tmp/iampass-list-" + (try #require(Digest.randomIdentifier()))
    let list = try known(["alice", "bob"])
    _ = try list.write(in: RunFolder(path: folder))
    let path = folder + "/service/users"
    let read = try #require(ServiceUsers(path: path, credential: "own"))
    #expect((read.version, read.tokens) == (list.version, list.tokens))
    #expect(ServiceUsers(path: path, credential: "another") == nil)
    let alice = try #require(UnixUsername(validating: "alice"))
    #expect(try UserTokens.token(of: alice, inFile: path, sharing: .allowed, isRoot: { _ in false }) == Secret("token"))
    try AtomicFile.write(Array("alice:token\n".utf8), to: path, mode: 0o600)
    #expect(ServiceUsers(path: path, credential: "own") == nil)
  }
}
