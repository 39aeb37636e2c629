import FuzzKit
import IAMPASSProtocol

@testable import HostSystem
@testable import IAMPASSClient
@testable import WorkerLink

/// A service that answers whatever it is asked with one reply.
final class ScriptedService: HTTPTransport {
  /// How the reply is signed: `target` is what the real service does, `right` what its older versions did.
  enum Signing: String { case none, wrong, right, target }

  static let credential = ServiceCredential(
    applicationID: "application", secret: Secret("0123456789abcdef01234567"))

  private let status: Int
  private let signing: Signing
  private let body: [UInt8]

  init(status: Int, signing: Signing, body: [UInt8]) {
    self.status = status
    self.signing = signing
    self.body = body
  }

  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    reply(to: request)
  }

  func reply(to request: HTTPRequest) -> HTTPReply {
    var headers: [(name: String, value: String)] = [("Content-Type", "application/json")]
    let nonce = request.headers.first { $0.name == "Authentication" }?.value.split(separator: ":").dropFirst().first
    let signature = ReplySignature.signature(
      secret: Self.credential.secret, nonce: nonce.map { String($0) } ?? "", status: status, body: body)
    switch signing {
    case .none: break
    case .wrong: headers.append((ReplySignature.header, String(signature.reversed())))
    case .right: headers.append((ReplySignature.header, signature))
    case .target:
      let signature = ReplySignature.targetSignature(
        secret: Self.credential.secret, nonce: nonce.map { String($0) } ?? "", method: request.method.rawValue,
        address: request.url, status: status, body: body)
      headers.append((ReplySignature.targetHeader, signature))
    }
    return HTTPReply(status: status, headers: headers, body: body, streams: 1)
  }

  static func settings(signedReplies: Bool, signedTargets: Bool) -> ServiceSettings {
    guard let server = try? ServerURL("https://iampass.test") else { fatalError("the service has an address") }
    return ServiceSettings(
      server: server, scheme: .documented, dialect: .iampass, signedReplies: signedReplies, signedTargets: signedTargets
    )
  }

  /// A session whose phone was asked.
  static func pending(_ settings: ServiceSettings) -> PendingSession {
    let started = StartedSession(
      status: .pending, statusURL: "https://iampass.test/status", logoutURL: "https://iampass.test/logout",
      token: Secret("token"), secret: Secret("0123456789abcdef01234567"), matchCode: nil)
    let session = try? RemoteSession(
      statusURL: started.statusURL, logoutURL: started.logoutURL, token: started.token, secret: started.secret,
      name: started.name, settings: settings)
    guard let session else { fatalError("the session is a good one") }
    return PendingSession(remote: session, started: started, server: settings.server, evidence: .service)
  }
}
