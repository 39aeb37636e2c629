import DeviceProtocol
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import LoginModule
import Testing
import WorkerLink

/// A service with a phone behind it, and what it does otherwise than a good one.
final class ServiceWithPhone: HTTPTransport {
  /// What the service does with a request and its approval.
  enum Manner {
    case good
    /// As a service of before: it repeats nothing and draws the code itself.
    case knowsNoChallenges
    case drawsAnotherCode
    case namesNoSession
    /// `active` without what the phone signed.
    case keepsTheApproval
    /// The phone signs for another session.
    case asksAboutAnother
    /// So often every code is in use.
    case hasTheCode(times: Int)
    /// So often another request is open.
    case isBusy(times: Int)
    /// It reads the code, and starts nothing.
    case refuses(reason: String)
    /// It reads the code, and answers with this status.
    case answers(status: Int)
    /// It reads and refuses this number of codes, and then takes no connection any more.
    case goes(after: Int, reason: String)
  }

  let key: DeviceKey
  private let manner: Manner
  private(set) var starts: [StartRequest] = []
  private(set) var queries: [String] = []
  private(set) var hasEnded = false
  /// Whether the phone has approved.
  var isAnswered = true
  /// Done before a status is told.
  var whileThePhoneIsAsked: () -> Void = {}

  init(_ manner: Manner) throws {
    self.manner = manner
    key = try DeviceKey.generate()
  }

  func pin() throws -> PinnedPhone {
    let key = try #require(P256PublicKey(try key.publicKey.text))
    return try #require(PinnedPhone(id: "phone-1", key: key, credential: nil, since: 1, name: "phone"))
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    switch request.url {
    case "https://iam.example/s/1":
      whileThePhoneIsAsked()
      return reply(200, status())
    case "https://iam.example/l/1":
      hasEnded = true
      return reply(200, AcknowledgementReply(done: true, session: nil).encoded())
    default:
      guard let start = try? StartRequest(parsing: request.body) else { return reply(400, []) }
      starts.append(start)
      queries.append(request.url)
      if case .hasTheCode(let times) = manner, starts.count <= times {
        return reply(200, StartReply.notStarted(reason: "CODE_IN_USE").encoded())
      }
      if case .isBusy(let times) = manner, starts.count <= times {
        return reply(200, StartReply.notStarted(reason: "REQUEST_PENDING").encoded())
      }
      if case .refuses(let reason) = manner { return reply(200, StartReply.notStarted(reason: reason).encoded()) }
      if case .answers(let status) = manner { return reply(status, []) }
      if case .goes(let count, let reason) = manner {
        guard starts.count <= count else { throw TransportError(.connectionRefused) }
        return reply(200, StartReply.notStarted(reason: reason).encoded())
      }
      return reply(202, started(start))
    }
  }

  private func reply(_ status: Int, _ body: [UInt8]) -> HTTPReply { HTTPReply(status: status, headers: [], body: body) }

  private func started(_ start: StartRequest) -> [UInt8] {
    var code = start.matchCode?.exposedValue
    var challenge = start.challenge
    switch manner {
    case .knowsNoChallenges: (code, challenge) = ("11", nil)
    case .drawsAnotherCode: code = code == "12" ? "13" : "12"
    case .good, .namesNoSession, .keepsTheApproval, .asksAboutAnother, .hasTheCode, .isBusy, .refuses, .answers, .goes:
      break
    }
    var name: String? = "session-1"
    if case .namesNoSession = manner { name = nil }
    return StartReply.started(
      StartedSession(
        status: .pending, statusURL: "/s/1", logoutURL: "/l/1", token: Secret("t"),
        secret: Secret("yNGfB51YbmwxAscRuzOl8G5U"), matchCode: code, name: name, challenge: challenge)
    ).encoded()
  }

  private func status() -> [UInt8] {
    guard isAnswered else {
      return StatusReply(status: .pending, authenticated: false, reason: nil, session: "session-1").encoded()
    }
    var approval = starts.last.flatMap { try? self.approval(of: $0) }
    if case .keepsTheApproval = manner { approval = nil }
    return StatusReply(
      status: .active, authenticated: true, reason: nil, session: "session-1", approval: approval
    ).encoded()
  }

  private func approval(of start: StartRequest) throws -> JSON {
    var session = "session-1"
    if case .asksAboutAnother = manner { session = "session-2" }
    let statement = AnswerStatement(
      origin: "https://iam.example", device: "phone-1", session: session, answer: .approve,
      contextHash: ShownContext.hash(try #require(start.context)), nonce: "n", expires: 1, method: .acceptance,
      code: start.matchCode?.exposedValue ?? "", challenge: start.challenge
    ).json
    let signature = try key.signature(over: statement.canonicallyEncoded())
    return .object([
      "phone": .string("phone-1"), "statement": statement, "signature": .string(Base64.encode(signature)),
    ])
  }
}
