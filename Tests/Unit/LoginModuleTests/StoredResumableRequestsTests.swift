import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import LoginModule

/// The files of requests that lockers have left. `test_left_open` has the rest.
@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
final class StoredResumableRequestsTests {
  private let path: String
  private let setup: HostSetup
  private let owner: LeftRequest.Owner

  /// No worker starts on this computer.
  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
    let file = path + "/iampass.conf"
    let lines = "server = https://iam.example\nrun_dir = \(path)/run\nworker = \(path)/no-worker\n"
    try AtomicFile.write(Array(lines.utf8), to: file, mode: 0o644)
    let credential = "application_id = app\napplication_secret = yNGfB51YbmwxAscRuzOl8G5U\n"
    try AtomicFile.write(Array(credential.utf8), to: path + "/credentials", mode: 0o600)
    setup = try HostSetup(path: file)
    owner = LeftRequest.Owner(uid: 1_000, service: "swaylock", process: try #require(ProcessIdentity.current()))
  }

  deinit {
    unlink(path + "/run/left/" + owner.id)
    for file in ["/iampass.conf", "/credentials"] { unlink(path + file) }
    for folder in ["/run/left", "/run", ""] { rmdir(path + folder) }
  }

  private func left(mark: String) throws -> LeftRequest {
    let remote = try RemoteSession(
      statusURL: "/s/1", logoutURL: "/l/1", token: Secret("t"), secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"), name: nil,
      settings: try setup.serviceSettings())
    let origin = OpenSession.Origin(machine: "m", boot: "b")
    return LeftRequest(
      owner: owner, mark: mark, began: BootTime.seconds(),
      session: OpenSession(remote, id: owner.id, origin: origin, end: 1), name: nil, challenge: nil)
  }

  /// The phone still rings. Forgotten, it would keep the user's next requests out until its time is over.
  @Test func whatCannotBeWithdrawnWithoutAWorkerIsTriedAgain() throws {
    let request = try left(mark: "another question")
    try setup.leftRequests.leave(request)
    let service = KeptService(
      service: try ClientService(ScriptedTransport([], clock: ScriptedClock())), kept: AskedRequests(setup: setup),
      seconds: 60)
    let stored = StoredResumableRequests(setup: setup, owner: owner, service: service)
    let isResumed = stored.take(.service(methods: [], context: nil), mark: "this question") != nil
    #expect(!isResumed)
    #expect(try setup.leftRequests.take(for: owner) == request)
  }
}
