import Testing

@testable import HostDoctor
@testable import HostState
@testable import HostSystem
@testable import WorkerLink

/// A command that ends sessions must not end itself.
@Suite struct OwnSessionsTests {
  private static let leader = ProcessIdentity(pid: 500, startTime: 5)
  private static let shell = ProcessIdentity(pid: 600, startTime: 6)
  private static let sudo = ProcessIdentity(pid: 700, startTime: 7)

  private func record(
    _ id: String, uid: UInt32 = 1000, session: String? = nil, leader: ProcessIdentity = leader,
    process: ProcessIdentity = ProcessIdentity(pid: 1, startTime: 1)
  ) throws -> SessionRecord {
    let text = """
      {"version": 1, "id": "\(id)", "user": "alice", "uid": \(uid), "service": "sshd",
      "status_url": "https://h/authentication/session_status/\(id)s", "logout_url": "https://h/l",
      "session_token": "t", "session_secret": "0123456789abcdef01234567",
      "process": {"pid": \(process.pid), "start": "\(process.startTime)"}, "parent": {"pid": 2, "start": "2"},
      "created": 1, "duration": 60, "claimed": false, "released": false, "condemned": false}
      """
    var record = try #require(SessionRecord(parsing: Array(text.utf8)))
    if let session { record.binding = SessionRecord.Binding(logindSession: session, leader: leader) }
    return record
  }

  private func place(
    session: String? = nil, uid: UInt32? = 1000, ancestors: [ProcessIdentity] = []
  ) -> CommandPlace { CommandPlace(logindSession: session, loginUID: uid, ancestors: ancestors) }

  private func own(_ place: CommandPlace, _ records: [SessionRecord]) -> [String] {
    place.own(among: records).map(\.id)
  }

  /// Also in tmux, whose processes are not children of the session.
  @Test func theSessionThatItsProcessesBelongToIsItsOwn() throws {
    let records = [try record("a", session: "3"), try record("b", session: "4")]
    #expect(own(place(session: "4"), records) == ["b"])
  }

  @Test func theSessionWhoseLeaderStartedItIsItsOwn() throws {
    let elsewhere = ProcessIdentity(pid: 500, startTime: 9)
    let records = [try record("a", session: "3"), try record("b", session: "4", leader: elsewhere)]
    #expect(own(place(ancestors: [Self.shell, Self.leader]), records) == ["a"])
  }

  @Test func theSudoThatItRunsUnderIsItsOwn() throws {
    let records = [try record("a", session: "3"), try record("b", process: Self.sudo), try record("c")]
    #expect(own(place(session: "3", ancestors: [Self.sudo, Self.shell]), records) == ["a", "b"])
  }

  /// A desktop's terminal belongs to the user's service manager.
  @Test func allSessionsOfTheUserCountIfTheSystemDoesNotSay() throws {
    let records = [
      try record("a", session: "3"), try record("b", session: "4"), try record("c", uid: 1001, session: "5"),
      try record("d", uid: 0, process: Self.sudo),
    ]
    #expect(own(place(ancestors: [Self.sudo, Self.shell]), records) == ["a", "b", "d"])
  }

  @Test func whatNobodysSignInStartedRunsInNone() throws {
    #expect(own(place(uid: nil), [try record("a", session: "3"), try record("b")]) == [])
  }

  @Test(arguments: [
    ("session-3.scope", "3"), ("session-c12.scope", "c12"), ("session-3.scope/inner", "3"), ("session-self.scope", nil),
    ("session-.scope", nil), ("user@1000.service/app.slice/session-7.scope", nil),
  ])
  func theSessionIsReadFromTheControlGroup(_ unit: String, _ session: String?) {
    let groups = ProcessUnits(groups: Array("0::/user.slice/user-1000.slice/\(unit)\n".utf8))
    #expect(CommandPlace.logindSession(groups) == session)
  }

  /// What `session renew` without an id takes.
  @Test func theSessionItRunsInMustBeOfTheUserWhoSignedIn() throws {
    let record = try record("a", session: "3")
    #expect(place(session: "3").isIn(record))
    for other in [place(session: "4"), place(), place(session: "3", uid: 1001), place(session: "3", uid: nil)] {
      #expect(!other.isIn(record))
    }
    let ofSudo = try self.record("b")
    #expect(!place(session: "3").isIn(ofSudo) && !place().isIn(ofSudo))
    var over = record
    over.isReleased = true
    #expect(!place(session: "3").isIn(over))
  }

  @Test func thisProcessHasAPlace() throws {
    #expect(CommandPlace.current().ancestors.first == ProcessIdentity.current())
  }

  @Test func aSessionIsCalledAsItsAddressSaysWhereNoNameWasGiven() throws {
    #expect(try record("a").nameAtService == "as")
  }
}
