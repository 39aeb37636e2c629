import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import LoginModule

/// What becomes of a request whose sign-in was killed, and of every other one's note.
@Suite(.enabled(if: geteuid() == 0, "a run folder is root's"))
final class NotedServiceTests {
  typealias Step = ScriptedTransport.Step

  private let run: RunFolder
  private let path: String
  private let clock = ScriptedClock()
  private let settings: ServiceSettings
  private var told: [String] = []
  private var transport: ScriptedTransport

  init() throws {
    var template = Array("/tmp/iampass-test-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
    run = RunFolder(path: path + "/run")
    settings = ServiceSettings(
      server: try ServerURL("https://iam.example"), scheme: .documented, dialect: .iampass, signedReplies: false)
    transport = ScriptedTransport([], clock: clock)
  }

  deinit {
    for folder in (try? folders()) ?? [] {
      for name in (try? names(in: folder)) ?? [] { remove(folder + "/" + name) }
      rmdir(folder)
    }
    unlink(path + "/run/requests/away")
    for folder in ["/run/requests", "/run", ""] { rmdir(path + folder) }
  }

  private func folders() throws -> [String] {
    let folder = path + "/run/requests"
    return try names(in: folder).map { folder + "/" + $0 }
  }

  private func names(in folder: String) throws -> [String] {
    try FolderListing.names(in: folder).filter { !$0.hasPrefix(".") }
  }

  /// This process's descriptor of an open file.
  private func descriptor(of path: String) -> Int32? {
    var target = [UInt8](repeating: 0, count: 4_096)
    // Other tests of this process hold thousands.
    let numbers = ((try? FolderListing.names(in: "/proc/self/fd")) ?? []).compactMap { Int32($0) }
    return numbers.first { number in
      let length = readlink("/proc/self/fd/\(number)", &target, target.count)
      return length > 0 && target[..<length].elementsEqual(path.utf8)
    }
  }

  private var notes: RequestNotes {
    get throws { RequestNotes(run: run, user: try #require(UnixUsername(validating: "alice"))) }
  }

  /// One sign-in's service over these steps.
  private func service(_ steps: [Step]) throws -> NotedService {
    transport = ScriptedTransport(steps, clock: clock)
    let base = try ClientService(transport)
    return NotedService(
      service: base, notes: try notes, settings: settings, clock: clock, seconds: 60,
      withdraw: { session, deadline throws(ServiceError) in try base.client.end(session, deadline: deadline) },
      tell: { self.told.append($0) })
  }

  private var deadline: MonotonicInstant { clock.now().advanced(milliseconds: 30_000) }

  private func start(_ service: NotedService) throws -> PendingSession {
    let answer = try service.start(
      token: Secret("token-of-alice"), .service(methods: [], context: nil), durationSeconds: 60, deadline: deadline)
    guard case .pending(let session) = answer else { throw ServiceError.notFound }
    return session
  }

  private let started = Step.start(202, ScriptedTransport.started)

  /// A sign-in that was killed: what it held is let go, and nothing else is done.
  private func killed() throws { _ = try start(try service([started])) }

  private func left() throws -> Int { try notes.leftOver().count }

  @Test func aDeadRequestIsWithdrawnBeforeTheNextOneStarts() throws {
    try killed()
    let next = try service([.logout, started])
    _ = try start(next)
    #expect(transport.isFinished)
    #expect(transport.urls.first == "https://iam.example/l/1")
    #expect(told.count == 1)
  }

  @Test func itIsWithdrawnOnce() throws {
    try killed()
    let next = try service([.logout, started, started])
    _ = try start(next)
    _ = try start(next)
    #expect(transport.isFinished)
  }

  @Test func aRequestThatIsAskedIsLeftAlone() throws {
    let first = try service([started])
    _ = try start(first)
    _ = try start(try service([started]))
    #expect(transport.isFinished)
    withExtendedLifetime(first) {}
  }

  @Test func anApprovedSessionIsNeverEndedByTheNextSignIn() throws {
    do {
      let first = try service([started, .status(200, ScriptedTransport.word("active"))])
      let session = try start(first)
      guard case .approved = try first.approval(of: session, waitSeconds: nil, deadline: deadline) else {
        Issue.record("not approved")
        return
      }
      // Even while its process still has the note's object.
      #expect(try left() == 0)
    }
    _ = try start(try service([started]))
    #expect(transport.isFinished)
  }

  @Test(arguments: [Step.logout, .refusedLogout(401)])
  func whatItsOwnSignInHasEndedIsForgotten(_ reply: Step) throws {
    let first = try service([started, reply])
    let session = try start(first)
    try? first.end(session.remote, deadline: deadline)
    _ = try start(try service([started]))
    #expect(transport.isFinished)
    withExtendedLifetime(first) {}
  }

  @Test(arguments: [Step.failure(.connectionLost), .failure(.workerDied), .refusedLogout(503)])
  func whatItsOwnSignInCouldNotEndIsLeftToTheNextOne(_ reply: Step) throws {
    do {
      let first = try service([started, reply])
      let session = try start(first)
      try? first.end(session.remote, deadline: deadline)
      #expect(try left() == 0, "its own sign-in still has it")
      withExtendedLifetime(first) {}
    }
    _ = try start(try service([.logout, started]))
    #expect(transport.isFinished)
    #expect(told.count == 1)
  }

  /// As one that wants a code, or whose record cannot be kept: it has no note, or none any more.
  @Test func whatHasNoNoteIsLeftToTheNextSignInToo() throws {
    let session = try RemoteSession(
      statusURL: "/s/1", logoutURL: "/l/1", token: Secret("t"), secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"), name: nil,
      settings: settings)
    let first = try service([.failure(.connectTimedOut)])
    try? first.end(session, deadline: deadline)
    #expect(try left() == 1)
    _ = try start(try service([.logout, started]))
    #expect(transport.isFinished)
    withExtendedLifetime(first) {}
  }

  @Test func anApprovalWhoseNoteStaysSignsNobodyIn() throws {
    let first = try service([started, .status(200, ScriptedTransport.word("active"))])
    let session = try start(first)
    // Neither the content nor the name goes: the descriptor is another file's, and a folder has the name.
    let folder = try #require(try folders().first)
    let note = folder + "/" + (try #require(try names(in: folder).first))
    let held = try #require(descriptor(of: note))
    let other = open("/dev/null", O_RDONLY | O_CLOEXEC)
    try #require(dup2(other, held) == held && close(other) == 0)
    try #require(rename(note, path + "/run/requests/away") == 0 && mkdir(note, 0o700) == 0)
    #expect(throws: ServiceError.requestStaysNoted) {
      try first.approval(of: session, waitSeconds: nil, deadline: deadline)
    }
  }

  @Test func anOutageLeavesItToTheNextSignIn() throws {
    try killed()
    _ = try? start(try service([.failure(.connectTimedOut), .failure(.connectTimedOut)]))
    #expect(transport.isFinished)
    #expect(try left() == 1)
  }

  @Test func whatTheServiceDoesNotKnowIsNotAskedForAgain() throws {
    try killed()
    _ = try start(try service([.refusedLogout(401), started]))
    #expect(transport.isFinished)
    #expect(told.isEmpty)
  }

  @Test func theWithdrawalTakesNoLongerThanACancellation() throws {
    try killed()
    _ = try start(try service([.logout, started]))
    let longest = MonotonicInstant(nanoseconds: 0).advanced(milliseconds: LoginPolicy.cancelMilliseconds)
    #expect(try #require(transport.deadlines.first) <= longest)
  }
}
