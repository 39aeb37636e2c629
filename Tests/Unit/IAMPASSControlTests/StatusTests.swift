import HostDoctor
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import IAMPASSControl

/// What `status` calls working, and how it shows a session.
@Suite struct StatusTests {
  private static let accepted = [
    Finding(.ok, .network, "https://h answers over TLS (6 ms)"),
    Finding(.ok, .service, "the service accepts the signature (signing = documented)"),
  ]

  private func screen(
    service: [Finding] = accepted, asking: [String] = ["sudo"], problems: [Finding] = [], helperIsThere: Bool = true,
    trial: TrialState = .none, sessions: [RecordedSession] = []
  ) -> StatusScreen {
    StatusScreen(
      server: "https://h", computer: "desk-7", service: service, asking: asking, problems: problems,
      helperIsThere: helperIsThere, trial: trial, sessions: sessions, clock: (unix: 1_795_000_000, boot: 500))
  }

  @Test func allThatIsShownHasToWork() {
    #expect(screen().works)
    #expect(!screen(service: [Finding(.problem, .network, "https://h cannot be asked: refused")]).works)
    #expect(!screen(service: Self.accepted + [Finding(.problem, .service, "signed_replies = required, but")]).works)
    #expect(!screen(asking: []).works)
    #expect(!screen(problems: [Finding(.problem, .sshd, "sshd: UsePAM is off")]).works)
    #expect(!screen(helperIsThere: false).works)
  }

  /// A reply to the unsigned call does not show whether the service accepts this computer.
  @Test func aServiceThatDoesNotSayThatItAcceptsThisComputerDoesNotWork() {
    #expect(!screen(service: []).works)
    #expect(!screen(service: [Finding(.ok, .network, "https://h answers over TLS (6 ms)")]).works)
  }

  @Test func aTrialWorksAsLongAsItRuns() {
    let alice = TrialUser(name: "alice", needsKey: false)
    #expect(screen(trial: .running(left: 60, user: alice, wasUsed: false)).works)
    #expect(!screen(trial: .overdue).works)
    #expect(!screen(trial: .ended(at: 1)).works)
  }

  @Test func aSessionBeganThatLongAgo() throws {
    let text = """
      {"version": 1, "id": "a", "user": "alice", "uid": 1000, "service": "sshd", "tty": "pts/3",
      "status_url": "https://h/authentication/session_status/s", "logout_url": "https://h/l",
      "session_token": "t", "session_secret": "0123456789abcdef01234567",
      "process": {"pid": 1, "start": "1"}, "parent": {"pid": 2, "start": "2"},
      "created": 100, "duration": 60, "claimed": false, "released": false, "condemned": false}
      """
    let record = try #require(SessionRecord(parsing: Array(text.utf8)))
    let shown = screen(sessions: [RecordedSession(record: record, note: nil)])
    #expect(
      shown.columns(shown.sessions[0]) == ["alice", "sshd", ClockTime.date(1_794_999_600), "pts/3", "", "not watched"])
  }
}
