import Testing

@testable import HostState
@testable import HostSystem
@testable import WorkerLink

@Suite struct LogindSessionTests {
  /// In the form of logind 252.
  private let written = """
    # This is private data. Do not parse.
    UID=1001
    USER=bob
    ACTIVE=1
    STATE=active
    REMOTE=1
    TYPE=tty
    CLASS=user
    SCOPE=session-148.scope
    REMOTE_HOST=::1
    SERVICE=sshd
    LEADER=223

    """

  private func parsed(_ text: String) -> LogindSession? { LogindSession(id: "148", parsing: Array(text.utf8)) }

  @Test func readsWhatLogindWroteDown() throws {
    let folder = try TemporaryFolder()
    try folder.write("148", written)
    let expected = LogindSession(
      id: "148", leader: 223, uid: 1_001, sessionClass: "user", type: "tty", isRemote: true, seat: "",
      scope: "session-148.scope", isActive: true, service: "sshd")
    #expect(LogindSession(id: "148", folder: folder.path) == expected)
  }

  @Test func findsEverySessionThatCanBeUnderstood() throws {
    let folder = try TemporaryFolder()
    try folder.write("148", written)
    try folder.write("c2", written.replacing("ACTIVE=1", with: "ACTIVE=0"))
    try folder.write("148.ref", written)
    try folder.write("7", "UID=7")
    let found = LogindSession.all(in: folder.path).sorted { $0.id < $1.id }
    #expect(found.map(\.id) == ["148", "c2"])
    #expect(found.map(\.isActive) == [true, false])
    #expect(LogindSession.all(in: folder.path + "/nowhere").isEmpty)
  }

  @Test func knowsWhoHasSignedOut() {
    #expect(parsed(written.replacing("STATE=active", with: "STATE=closing"))?.isClosing == true)
  }

  /// A carriage return and a line feed are one character to Swift.
  @Test func aCarriageReturnHidesNoLine() {
    #expect(parsed(written.replacing("SERVICE=sshd\n", with: "TTY=x\r\n"))?.leader == 223)
    #expect(parsed(written + "TTY=x\r\nLEADER=1\n") == nil)
  }

  @Test(arguments: ["LEADER=1", "UID=0", "CLASS=greeter"])
  func refusesAFileThatSaysSomethingTwice(_ line: String) {
    #expect(parsed(written + line + "\n") == nil)
  }

  @Test(arguments: ["LEADER=223", "UID=1001"])
  func refusesAFileWithoutLeaderOrUser(_ line: String) {
    #expect(parsed(written.replacing(line + "\n", with: "")) == nil)
  }

  @Test(arguments: ["LEADER=0", "LEADER=-1", "LEADER=99999999999", "LEADER=", "LEADER=\"223\""])
  func refusesALeaderThatIsNotAProcess(_ line: String) {
    #expect(parsed(written.replacing("LEADER=223", with: line)) == nil)
  }

  /// logind would read these as the caller's own session, or as the one on its screen.
  @Test(arguments: ["", "self", "auto", "../148", "1 4", "148\n", "_31", String(repeating: "1", count: 65)])
  func refusesWhatNamesNoSessionOrAnyoneS(_ id: String) throws {
    let folder = try TemporaryFolder()
    for name in ["self", "auto"] { try folder.write(name, written) }
    #expect(!LogindSession.isID(id))
    #expect(LogindSession(id: id, folder: folder.path) == nil)
  }

  @Test func onlyALocalGraphicalSessionCanLock() {
    func session(type: String, remote: Bool) -> LogindSession {
      LogindSession(
        id: "1", leader: 2, uid: 3, sessionClass: "user", type: type, isRemote: remote, seat: "seat0", scope: "")
    }
    #expect(session(type: "wayland", remote: false).canLock)
    #expect(!session(type: "wayland", remote: true).canLock)
    #expect(!session(type: "tty", remote: false).canLock)
    #expect(!session(type: "unspecified", remote: false).canLock)
  }

  @Test(arguments: [
    ("user", true), ("user-light", true), ("user-early", true), ("greeter", false), ("manager", false),
    ("background", false), ("lock-screen", false), ("", false),
  ])
  func tellsASignInFromTheRest(_ name: String, _ expected: Bool) {
    let session = LogindSession(
      id: "1", leader: 2, uid: 3, sessionClass: name, type: "tty", isRemote: false, seat: "", scope: "")
    #expect(session.isSignIn == expected)
  }
}
