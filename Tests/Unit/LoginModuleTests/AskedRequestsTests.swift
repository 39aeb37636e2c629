import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import LoginModule

/// The notes of requests that the broker's processes wait for.
@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
final class AskedRequestsTests {
  private let path: String
  private let setup: HostSetup
  private let me: ProcessIdentity
  private var now: Int64 = 1_700_000_000

  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
    let file = path + "/iampass.conf"
    let lines = "server = https://iam.example\nrun_dir = \(path)/run\n"
    try AtomicFile.write(Array(lines.utf8), to: file, mode: 0o644)
    setup = try HostSetup(path: file)
    me = try #require(ProcessIdentity.current())
  }

  deinit {
    for id in (try? ids()) ?? [] { unlink(path + "/run/asked/" + id) }
    unlink(path + "/iampass.conf")
    for folder in ["/run/asked", "/run", ""] { rmdir(path + folder) }
  }

  private var asked: AskedRequests { AskedRequests(setup: setup, unixTime: { self.now }) }

  private func ids() throws -> [String] { try OpenSessions.asked(run: setup.run).ids() }

  private func request(_ number: Int) throws -> RemoteSession {
    try RemoteSession(
      statusURL: "/s/\(number)", logoutURL: "/l/\(number)", token: Secret("t"),
      secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"), name: "session-\(number)", settings: try setup.serviceSettings())
  }

  /// Writes a note of an earlier process with this process's number. Returns its id.
  private func note(_ number: Int, startedEarlierBy ticks: UInt64, end: Int64) throws -> String {
    let session = try request(number)
    let process = ProcessIdentity(pid: me.pid, startTime: me.startTime - ticks)
    let id = AskedRequests.id(of: session.statusURL, asking: process)
    let origin = OpenSession.Origin(machine: "m", boot: "b")
    try OpenSessions.asked(run: setup.run).write(OpenSession(session, id: id, origin: origin, end: end))
    return id
  }

  @Test func aProcessThatWaitsIsAsked() throws {
    let session = try request(1)
    asked.keep(session, seconds: 60)
    #expect(asked.isAnyAsked && asked.leftOver.isEmpty)
    asked.forget(session)
    #expect(try ids().isEmpty)
  }

  @Test func aNumberThatIsUsedAgainInheritsNoNote() throws {
    let id = try note(1, startedEarlierBy: 1, end: now + 60)
    #expect(!asked.isAnyAsked)
    #expect(asked.leftOver == [id])
    // The same request of this process has a note of its own.
    asked.keep(try request(1), seconds: 60)
    #expect(asked.isAnyAsked)
    #expect(asked.leftOver == [id])
  }

  @Test func anEndedProcessesNoteGoesOnceItsRequestIsOver() throws {
    _ = try note(1, startedEarlierBy: 1, end: now)
    let open = try note(2, startedEarlierBy: 1, end: now + 1)
    asked.keep(try request(3), seconds: 60)
    #expect(asked.leftOver == [open])
    #expect(try ids().count == 2)
  }

  @Test func aProcessThatWaitsKeepsItsNoteWhateverTheTime() throws {
    asked.keep(try request(1), seconds: 60)
    now += 1_000
    asked.keep(try request(2), seconds: 60)
    #expect(try ids().count == 2)
    #expect(asked.leftOver.isEmpty)
  }
}
