import IAMPASSProtocol
import Testing

@testable import IAMPASSServer

/// A changed list wakes all computers of its application at once: those that ask the same share what is read.
@Suite struct SharedUserListTests {
  private static let count = 60

  private let gate: StorageGate
  private let fixture: Fixture

  private var storage: any ServiceStorage { fixture.service.core.storage }
  private var lists: SharedUserLists { fixture.service.core.userLists }

  init() async throws {
    let gate = StorageGate(["userListPage(_:)", "seeSigning(_:)"], isShut: true)
    self.gate = gate
    fixture = try await Fixture { LosingStorage($0, losing: -1, .before) { await gate.pass($0) } }
    for (name, groups) in [("alice", ["lab"]), ("bob", [])] {
      _ = try await storage.listUser(UserListOrder(application: "shop", name: name, groups: groups))
    }
  }

  private func query(_ group: String) -> UserListQuery {
    UserListQuery(requester: "own", application: fixture.application.id, group: group, since: 0, after: "")
  }

  private func names(_ page: UserListReply) -> [String] { page.changes.map(\.name) }

  @Test(.timeLimit(.wholeRun), arguments: [false, true])
  func computersThatAskAtTheSameTimeShareARead(_ isSigned: Bool) async throws {
    var desks: [HostCredential] = []
    for number in 0..<3 {
      desks.append(
        try await storage.createHostCredential(
          named: "desk-\(number)", host: "desk", of: "shop", at: fixture.clock.now))
    }
    let requests = try (0..<Self.count).map { number in
      let desk = desks[number % desks.count]
      let target = "/authentication/user_list/\(desk.id)" + (isSigned ? "?signed=1" : "")
      return (computer: desk.id, request: try fixture.signed("GET", target, by: desk))
    }
    let (office, door, shared) = (fixture, gate, lists)
    let replies = await withTaskGroup(of: (computer: String, reply: ServiceReply).self) { group in
      group.addTask { (computer: requests[0].computer, reply: await office.respond(requests[0].request)) }
      // The first read is the first computer's alone: one takes all who ask before it begins.
      while door.looks == 0 { await Task.yield() }
      for (computer, request) in requests.dropFirst() {
        group.addTask { (computer: computer, reply: await office.respond(request)) }
      }
      while shared.waiting < Self.count - 1 { await Task.yield() }
      door.open()
      var replies: [(computer: String, reply: ServiceReply)] = []
      for await reply in group { replies.append(reply) }
      return replies
    }
    #expect(gate.looks == 2)
    #expect(replies.count == Self.count)
    for (computer, reply) in replies {
      #expect(reply.status == 200)
      #expect(try JSON(parsing: reply.body)["for"]?.string == computer)
      #expect(ServiceMark(in: reply.body) != nil)
    }
  }

  @Test(.timeLimit(.wholeRun)) func eachIsToldItsOwnGroupsUsers() async throws {
    let first = Task { try await lists.page(query("")).page }
    while gate.looks == 0 { await Task.yield() }
    let groups = ["lab", "", "office", "lab"]
    let others = groups.map { group in Task { try await lists.page(query(group)).page } }
    while lists.waiting < groups.count { await Task.yield() }
    gate.open()
    #expect(names(try await first.value) == ["alice", "bob"])
    var told: [[String]] = []
    for other in others { told.append(names(try await other.value)) }
    #expect(told == [["alice"], ["alice", "bob"], [], ["alice"]])
    #expect(gate.looks == 1 + Set(groups).count)
  }

  @Test(.timeLimit(.wholeRun)) func aReadThatFailsFailsForThoseWhoAskedItAlone() async throws {
    let lists = SharedUserLists(LosingStorage(storage, losing: 1, .before))
    let first = Task { try await lists.page(query("")).page }
    while gate.looks == 0 { await Task.yield() }
    let others = ["lab", "office"].map { group in Task { try await lists.page(query(group)).page } }
    while lists.waiting < others.count { await Task.yield() }
    gate.open()
    #expect(names(try await first.value) == ["alice", "bob"])
    var failures = 0
    for other in others {
      do { _ = try await other.value } catch is LosingStorage.ConnectionLost { failures += 1 }
    }
    #expect(failures == 1)
    #expect(names(try await lists.page(query("lab")).page) == ["alice"])
  }
}
