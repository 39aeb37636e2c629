import DeviceProtocol
import HostSystem
import IAMPASSPhone
import IAMPASSProtocol
import WorkerLink

/// Replies as its script says. What is asked beyond the script fails, as an unreachable service does.
final class ScriptedService: HTTPTransport {
  enum Step {
    case reply(Int, String)
    case failure(TransportError.Code)
  }

  private var script: [Step]
  private(set) var asked: [HTTPRequest] = []

  init(_ script: [Step]) { self.script = script }

  var isFinished: Bool { script.isEmpty }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    asked.append(request)
    guard !script.isEmpty else { throw TransportError(.workerFailed, detail: "not in the script") }
    switch script.removeFirst() {
    case .reply(let status, let body): return HTTPReply(status: status, headers: [], body: Array(body.utf8))
    case .failure(let code): throw TransportError(code)
    }
  }

  static func refusal(_ status: Int, _ reason: String) -> Step {
    .reply(status, #"{"status":false,"reason":"\#(reason)"}"#)
  }

  static let done = Step.reply(200, #"{"status":true}"#)
  static let registered = Step.reply(
    200, #"{"status":true,"device":"d","application":"office","user":"Alice","methods":["acceptance"]}"#)
}

/// Keeps accounts in memory, or has no room for them.
final class ScriptedStorage: PhoneStorage {
  struct Full: Error {}

  private let isFull: Bool
  private(set) var kept: [PhoneAccount] = []

  init(isFull: Bool = false) { self.isFull = isFull }

  func accounts() -> [PhoneAccount] { kept }

  func add(_ register: () throws -> PhoneAccount) throws -> PhoneAccount {
    guard !isFull else { throw Full() }
    kept.append(try register())
    return kept[kept.count - 1]
  }

  func remove(_ account: PhoneAccount) { kept.removeAll { $0.device == account.device } }
}

/// A screen lock whose user agrees, or declines.
final class ScriptedLock: PhoneAuthenticator {
  private let agrees: Bool
  private(set) var challenges: [[UInt8]] = []

  init(agrees: Bool) { self.agrees = agrees }

  func makeCredential(challenge: [UInt8], origin: String) -> UnverifiedCredential? {
    challenges.append(challenge)
    return agrees
      ? UnverifiedCredential(id: [1], publicKey: "OTHER", authenticatorData: [2], clientData: [3]) : nil
  }

  func assertion(of credential: String, challenge: [UInt8], origin: String) -> UnverifiedAssertion? {
    challenges.append(challenge)
    return agrees ? UnverifiedAssertion(authenticatorData: [1], clientData: [2], signature: [3]) : nil
  }
}
