import AsyncHTTPClient
import HostSystem
import IAMPASSProtocol
import NIOCore
import NIOSSL
import WorkerLink

/// HTTPS in the caller's own process, for programs that are not PAM modules: no worker program is needed.
///
/// An exchange blocks its thread. Never call it on an event loop of SwiftNIO or in a Swift task: give it a thread of
/// its own. The environment's proxy is not used, and redirects are not followed, since another server would get the
/// signature.
public final class InProcessTransport: HTTPTransport {
  /// In bytes: a longer reply is refused.
  private static let greatestReply = 64 * 1_024
  /// The longest time to connect, in seconds.
  private static let connectTime: Int64 = 10

  private let server: ServerURL
  private let client: HTTPClient

  /// - Parameters:
  ///   - server: the only service that requests go to.
  ///   - authority: the certificates to trust instead of the system's.
  /// - Throws: if a certificate of `authority` is invalid.
  public init(server: ServerURL, authority: CertificateBundle? = nil) throws {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv12
    if let authority {
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(authority.pem))
    }
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(Self.connectTime)), decompression: .disabled)
    // The caller is told at once, and decides when to try again.
    configuration.connectionPool.retryConnectionEstablishment = false
    self.server = server
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  deinit {
    // Connections close by themselves. There is no one to tell of a failure.
    client.shutdown { _ in }
  }

  public func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    guard let own = try? server.ownAddress(request.url), own == request.url else {
      throw TransportError(.notHTTP, detail: "the address is another service's")
    }
    let now = MonotonicInstant.now()
    guard now < deadline else { throw TransportError(.silent, detail: "no time left") }
    do {
      let ask = try asking(request)
      let collector = ResponseAccumulator(request: ask, maxBodySize: Self.greatestReply)
      let reply = try client.execute(
        request: ask, delegate: collector,
        deadline: .now() + .milliseconds(deadline.milliseconds(since: now))
      ).futureResult.wait()
      return HTTPReply(
        status: Int(reply.status.code), headers: reply.headers.map { (name: $0.name, value: $0.value) },
        body: reply.body.map { Array($0.readableBytesView) } ?? [])
    } catch {
      throw TransportError(error)
    }
  }

  private func asking(_ request: HTTPRequest) throws -> HTTPClient.Request {
    var ask = try HTTPClient.Request(url: request.url, method: .init(rawValue: request.method.rawValue))
    for header in request.headers { ask.headers.add(name: header.name, value: header.value) }
    ask.headers.replaceOrAdd(name: "User-Agent", value: "iampass")
    if request.method == .post { ask.body = .bytes(request.body) }
    return ask
  }
}
