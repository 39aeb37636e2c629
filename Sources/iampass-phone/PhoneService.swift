import ArgumentParser
import CHost
import CommandSupport
import DeviceProtocol
import Glibc
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The service, from the phone's side.
final class PhoneService {
  /// In milliseconds, for a request that is not held.
  private static let usualTime: Int64 = 15_000
  /// In seconds: how long the service may hold a listing.
  static let holdTime: Int64 = 20

  private let server: ServerURL
  private let transport: any HTTPTransport

  init(server: ServerURL, transport: any HTTPTransport) {
    self.server = server
    self.transport = transport
  }

  /// Uses the worker program for the network.
  convenience init(server: ServerURL, authority: CertificateBundle?, worker: String?, interrupt: Interrupt) {
    let settings = WorkerSettings(
      server: server, caCertificates: authority, worker: worker ?? Self.installedWorker(),
      // The worker refuses to run as root.
      workerUser: geteuid() == 0 ? "nobody" : nil, lifetime: 0)
    self.init(server: server, transport: WorkerTransport(settings: settings, interruption: interrupt))
  }

  func get(_ path: [String]) throws -> [UInt8] {
    try exchange(HTTPRequest(method: .get, url: server.route(path), headers: []), for: "the link")
  }

  /// - Parameter wait: seconds that the service may hold the request.
  func post(_ path: [String], _ body: [UInt8], wait: Int64 = 0) throws -> [UInt8] {
    var headers = [(name: "Content-Type", value: "application/json")]
    if wait > 0 { headers.append(("Prefer", "wait=\(wait)")) }
    let request = HTTPRequest(method: .post, url: server.route(path), headers: headers, body: body)
    return try exchange(request, for: path.last ?? "", extraTime: wait * 1_000)
  }

  private func exchange(_ request: HTTPRequest, for what: String, extraTime: Int64 = 0) throws -> [UInt8] {
    let reply: HTTPReply
    do {
      reply = try transport.exchange(
        request, deadline: .now().advanced(milliseconds: Self.usualTime + extraTime))
    } catch {
      if error.code == .interrupted { throw ExitCode(Interrupt.exitCode) }
      throw error
    }
    if (200..<300).contains(reply.status) { return reply.body }
    guard let refusal = try? AcknowledgementReply(parsing: reply.body), let reason = refusal.reason else {
      throw ServiceAway(status: reply.status)
    }
    if reply.status >= 500 || reply.status == 429 { throw ServiceAway(status: reply.status) }
    throw ServiceRefusal(status: reply.status, reason: reason)
  }

  /// The worker beside this program; otherwise the path where the package installs it.
  private static func installedWorker() -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink("/proc/self/exe", $0, bytes.count) } ?? -1
    }
    if count > 0, let own = String(validating: buffer.prefix(count), as: UTF8.self),
      let slash = own.lastIndex(of: "/")
    {
      let beside = own[..<slash] + "/iampass-https"
      if access(String(beside), X_OK) == 0 { return String(beside) }
    }
    return "/usr/libexec/iampass/iampass-https"
  }
}

/// The service understood the request and refused it.
struct ServiceRefusal: Error {
  let status: Int
  let reason: String
}

/// The reply is an outage, or does not come from a service like ours.
struct ServiceAway: Error {
  let status: Int
}

/// A registered phone and its service.
struct RegisteredPhone {
  let state: PhoneState
  let service: PhoneService

  init(_ option: StateOption, interrupt: Interrupt) throws {
    state = try StateFile(path: option.state).read()
    let authority = try state.authority.map { (pem) throws(CommandProblem) in
      guard let bundle = CertificateBundle(pem: Array(pem.utf8)) else {
        throw .authorityNotReadable(option.state, "its authority has no certificate")
      }
      return bundle
    }
    service = PhoneService(server: state.server, authority: authority, worker: option.worker, interrupt: interrupt)
  }

  func ask(_ purpose: DevicePurpose, _ path: [String], known: [String] = [], wait: Int64 = 0) throws -> [UInt8] {
    guard let nonce = Digest.randomIdentifier() else { throw CommandProblem.noKey }
    let ask = DeviceAsk(
      origin: state.server.origin, device: state.device, purpose: purpose, timestamp: Int64(time(nil)), nonce: nonce,
      known: known)
    return try service.post(path, try UnverifiedStatement.body(signing: ask.json, with: state.key), wait: wait)
  }

  func send(_ answer: DeviceAnswer, to request: OpenRequest, code: MatchCode? = nil) throws {
    let statement = AnswerStatement(
      origin: state.server.origin, device: state.device, session: request.session, answer: answer,
      contextHash: ShownContext.hash(request.context), nonce: request.nonce, expires: request.expires,
      method: request.method, code: code?.digits ?? "", challenge: request.challenge)
    _ = try service.post(
      DeviceRoute.answer, try UnverifiedStatement.body(signing: statement.json, with: state.key))
  }
}

/// Runs `work`, and turns the service's failures into messages for a person.
func explaining<Value>(_ work: () throws -> Value) throws -> Value {
  do {
    return try work()
  } catch let error as TransportError {
    throw CommandProblem(error)
  } catch let refusal as ServiceRefusal {
    throw CommandProblem(status: refusal.status, reason: refusal.reason)
  } catch let away as ServiceAway {
    throw CommandProblem(
      message: "the service is unavailable (status \(away.status))", hint: "try again later", exitCode: EX_UNAVAILABLE)
  } catch is MessageError {
    throw CommandProblem.brokenReply("this")
  } catch is DeviceKeyError {
    throw CommandProblem.noKey
  }
}
