import HostSystem
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import IAMPASSControl

private func session(
  _ id: String, created: Int = 1, status: String? = nil, remark: String = "", isReleased: Bool = false
) throws -> RecordedSession {
  let text = """
    {"version": 1, "id": "\(id)", "user": "alice", "uid": 1000, "service": "sshd",
    "status_url": "https://h/authentication/session_status/\(id)s", "logout_url": "https://h/l",
    "session_token": "t", "session_secret": "0123456789abcdef01234567",
    "process": {"pid": 1, "start": "1"}, "parent": {"pid": 2, "start": "2"},
    "created": \(created), "duration": 60, "claimed": false, "released": \(isReleased), "condemned": false}
    """
  let record = try #require(SessionRecord(parsing: Array(text.utf8)))
  return RecordedSession(
    record: record, note: WatchNote(status: status.map(SessionStatus.init(word:)), since: 1, remark: remark))
}

/// What `session list` and `session watch` say.
@Suite struct SessionTextTests {
  @Test(
    arguments: [
      (-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3_599, "59m"), (3_600, "1h0m"), (11_520, "3h12m"),
      (86_399, "23h59m"), (86_400, "1d0h"), (187_200, "2d4h"),
    ] as [(Int64, String)])
  func spansAreRoundedDown(seconds: Int64, text: String) { #expect(Span.text(seconds) == text) }

  @Test func whatChangedBetweenTwoLooksIsSaidOnceAndTheOldestEndFirst() throws {
    let before = [
      try session("a", created: 9, status: "active"), try session("b", created: 3, status: "active"),
      try session("c", status: "active"), try session("d", status: "active"), try session("e", status: "active"),
    ]
    let now = [
      try session("c", status: "active"), try session("d", status: "walkaway"),
      try session("e", status: "active", remark: "locked"), try session("f"),
    ]
    let changes = SessionChange.between(Dictionary(uniqueKeysWithValues: before.map { ($0.record.id, $0) }), now)
    #expect(changes.map(\.session.record.id) == ["b", "a", "d", "e", "f"])
    #expect(changes.map(\.word) == ["ended", "ended", "walkaway", "active", "opened"])
    #expect(SessionChange.between([:], []).isEmpty)
  }

  @Test func aRemarkReachesNoTerminalRaw() throws {
    let line = SessionChange(word: "active", session: try session("a", status: "active", remark: "\u{1b}[2Jx")).line
    #expect(!line.contains("\u{1b}"))
    #expect(line.contains("x"))
  }
}
