import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import LoginModule
import Testing
import WorkerLink

/// A clock that only the script moves.
final class ScriptedClock: LoginClock {
  private(set) var time = MonotonicInstant(nanoseconds: 0)
  /// The pause, counted from 1, in which the user interrupts.
  var interruptedPause: Int?
  private var pauses = 0

  func now() -> MonotonicInstant { time }

  func advance(milliseconds: Int64) { time = time.advanced(milliseconds: milliseconds) }

  func pause(milliseconds: Int64) -> Bool {
    pauses += 1
    advance(milliseconds: milliseconds)
    return pauses == interruptedPause
  }
}

/// A service with prepared answers. An unexpected request fails the test, and so does an unused answer.
final class ScriptedTransport: HTTPTransport {
  enum Step {
    case start(Int, String)
    case status(Int, String)
    /// A status reply that the service held for this long.
    case heldStatus(milliseconds: Int64, String)
    case logout
    /// The service does not end a session, by this status.
    case refusedLogout(Int)
    /// The service answers a request that asks for nothing.
    case reached
    case failure(TransportError.Code)
    /// The same after this time.
    case lateFailure(milliseconds: Int64, TransportError.Code)
  }

  static let started = """
    {"authentication_status":{"authenticated":true,"session_status":"pending","reason":null,\
    "status_url":"https://iam.example/s/1","logout_url":"https://iam.example/l/1","session_token":"t",\
    "session_secret":"yNGfB51YbmwxAscRuzOl8G5U"}}
    """

  static func word(_ word: String) -> String { #"{"session_status":"\#(word)","authenticated":true}"# }

  private var steps: [Step]
  private let clock: ScriptedClock
  private(set) var urls: [String] = []
  private(set) var bodies: [[UInt8]] = []
  private(set) var deadlines: [MonotonicInstant] = []

  init(_ steps: [Step], clock: ScriptedClock) {
    self.steps = steps
    self.clock = clock
  }

  var isFinished: Bool { steps.isEmpty }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    urls.append(request.url)
    bodies.append(request.body)
    deadlines.append(deadline)
    guard !steps.isEmpty else {
      Issue.record("unexpected request \(request.method) \(request.url)")
      throw TransportError(.workerDied)
    }
    switch steps.removeFirst() {
    case .start(let status, let body):
      #expect(request.method == .post && request.url.contains("/authenticate_user/"))
      return reply(status, body)
    case .status(let status, let body):
      #expect(request.method == .get && request.url == "https://iam.example/s/1")
      return reply(status, body)
    case .heldStatus(let milliseconds, let body):
      clock.advance(milliseconds: milliseconds)
      return HTTPReply(status: 200, headers: [("Preference-Applied", "wait=20")], body: Array(body.utf8))
    case .logout:
      #expect(request.method == .post && request.url == "https://iam.example/l/1")
      return reply(200, #"{"status":true}"#)
    case .refusedLogout(let status):
      #expect(request.method == .post && request.url == "https://iam.example/l/1")
      return reply(status, "{}")
    case .reached:
      #expect(request.method == .get && request.url.contains("/service_mark/"))
      return reply(200, #"{"status":true}"#)
    case .failure(let code):
      throw TransportError(code)
    case .lateFailure(let milliseconds, let code):
      clock.advance(milliseconds: milliseconds)
      throw TransportError(code)
    }
  }

  private func reply(_ status: Int, _ body: String) -> HTTPReply {
    HTTPReply(status: status, headers: [], body: Array(body.utf8))
  }
}

/// The real client, with nothing to prepare.
struct ClientService: AuthenticationService {
  let client: AuthenticationClient

  func prepare() {}

  func start(
    token: Secret, _ question: ApprovalQuestion, durationSeconds: Int64, deadline: MonotonicInstant
  ) throws(ServiceError) -> StartAnswer {
    try client.start(token: token, question, durationSeconds: durationSeconds, deadline: deadline)
  }

  var startMayHaveArrived: Bool { client.startMayHaveArrived }

  func approval(
    of session: PendingSession, waitSeconds: Int64?, deadline: MonotonicInstant
  ) throws(ServiceError) -> ApprovalAnswer {
    try client.approval(of: session, waitSeconds: waitSeconds, deadline: deadline)
  }

  func reach(deadline: MonotonicInstant) throws(ServiceError) { try client.reach(deadline: deadline) }

  func end(_ session: RemoteSession, deadline: MonotonicInstant) throws(ServiceError) {
    try client.end(session, deadline: deadline)
  }
}

extension ClientService {
  /// Over a scripted transport.
  init(_ transport: ScriptedTransport) throws {
    let settings = ServiceSettings(
      server: try ServerURL("https://iam.example"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let credential = ServiceCredential(applicationID: "app", secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"))
    client = try AuthenticationClient(
      settings: settings, credential: credential, transport: transport, unixTime: { 1_700_000_000 })
  }
}

/// A terminal whose user types prepared answers.
final class ScriptedTerminal: Conversation {
  /// What the user types at each prompt; nil for no answer.
  var answers: [String?]
  private(set) var shown: [String] = []
  private(set) var asked: [String] = []
  private(set) var links: [String] = []
  private(set) var password: Secret?
  var isGone = false
  /// The time for each answer in milliseconds. The last one repeats. A person reads before typing.
  var paces: [Int64] = [1_500]
  private let clock: ScriptedClock

  init(answers: [String?] = [], clock: ScriptedClock) {
    self.answers = answers
    self.clock = clock
  }

  func say(_ text: String) throws(ConversationError) {
    if isGone { throw .gone }
    shown.append(text)
  }

  func show(link: String) throws(ConversationError) {
    if isGone { throw .gone }
    links.append(link)
  }

  func ask(_ prompt: String) throws(ConversationError) -> Secret? {
    if isGone { throw .gone }
    asked.append(prompt)
    guard !answers.isEmpty else {
      Issue.record("unexpected prompt \(prompt)")
      return nil
    }
    clock.advance(milliseconds: paces.count > 1 ? paces.removeFirst() : paces[0])
    return answers.removeFirst().map { Secret($0) }
  }

  func keepPassword(_ password: Secret) throws(ConversationError) { self.password = password }
}

struct ScriptedTokens: TokenLookup {
  var tokens = ["alice": "token-of-alice"]
  /// What stands in the way, if anything does.
  var refusal: Refusal?

  func token(of user: UnixUsername) throws(Refusal) -> Secret? {
    if let refusal { throw refusal }
    return tokens[user.text].map { Secret($0) }
  }
}

struct ScriptedTrust: ApprovalTrust {
  /// What stands in the way, if anything does.
  var error: PhoneTrustError?
  var phones: [PinnedPhone] = []
  var verifier: any SignatureVerifier = LibcryptoVerifier()

  func demand(
    of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> ApprovalDemand {
    if let error { throw error }
    do { return try ApprovalDemand(phones: phones, asked: asked, verifier: verifier) } catch { throw .gap(error) }
  }
}

/// A list of phones that an administrator changes while a phone is asked.
final class ChangingTrust: ApprovalTrust {
  var current: ScriptedTrust

  init(_ current: ScriptedTrust) { self.current = current }

  func demand(
    of user: UnixUsername, asked: [AuthenticationMethod]
  ) throws(PhoneTrustError) -> ApprovalDemand { try current.demand(of: user, asked: asked) }
}

/// Keeps a request as a file would: what is taken is made again of what was left.
final class ScriptedShelf: ResumableRequests {
  private(set) var left: PendingSession?
  private var mark: String?
  /// A shelf that gives away what was asked by another mark.
  var isWrong = false
  /// How often it was told that what was taken is over.
  private(set) var forgotten = 0
  /// A folder that is full, or broken.
  var isBroken = false

  func take(_ question: ApprovalQuestion, mark: String) -> PendingSession? {
    defer { left = nil }
    guard isWrong || mark == self.mark else { return nil }
    return left.flatMap {
      PendingSession(
        resuming: $0.remote, name: $0.name, question, challenge: $0.challenge, origin: "https://iam.example")
    }
  }

  func leave(_ pending: PendingSession, mark: String) -> Bool {
    guard !isBroken else { return false }
    left = pending
    self.mark = mark
    return true
  }

  func forget(_ pending: PendingSession) { forgotten += 1 }
}

final class ScriptedLimit: RequestLimit {
  var refusal: AttemptRefusal?
  private(set) var count = 0

  func admit() throws(AttemptRefusal) {
    if let refusal { throw refusal }
    count += 1
  }

  func forgive() throws(AttemptRefusal) { count -= 1 }
}

struct ScriptedRecorder: SessionRecorder {
  /// No record could be kept, which shows before the phone rings.
  var early: LedgerError?
  var error: LedgerError?

  func requireRecordable() throws(LedgerError) { if let early { throw early } }

  func record(_ session: ActiveSession) throws(LedgerError) -> SessionRecord {
    if let error { throw error }
    guard let user = UnixUsername(validating: "alice") else { throw .badID }
    let process = ProcessIdentity(pid: 1, startTime: 1)
    return SessionRecord(
      id: "record", user: user, uid: 1_000, service: "sudo", remoteHost: nil, tty: nil, session: session.remote,
      process: process, parent: process, created: 0, duration: 60, opensSession: false)
  }

  func record(_ proof: OfflineProof) throws(LedgerError) -> SessionRecord {
    if let error { throw error }
    let process = ProcessIdentity(pid: 1, startTime: 1)
    return SessionRecord(
      id: "record", user: proof.user, uid: 1_000, service: "login", remoteHost: nil, tty: nil, session: nil,
      process: process, parent: process, created: 0, duration: 60, opensSession: true)
  }
}
