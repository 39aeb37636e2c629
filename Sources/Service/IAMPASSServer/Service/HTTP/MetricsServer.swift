import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// Serves `/metrics`, `/healthz` and `/readyz` on their own listener, without TLS.
///
/// They are not among the service's routes: behind a proxy on the same computer every stranger has a loopback address.
public struct MetricsServer: Sendable {
  private static let contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
  /// How long a connection may be idle, and how long a request's headers may take, in seconds.
  private static let idleTime: Int64 = 10

  private let service: SignInService
  private let logger: Logger

  public init(service: SignInService, logger: Logger) {
    self.service = service
    self.logger = logger
  }

  /// Serves until the task is cancelled.
  ///
  /// - Parameter onListening: is called with the bound port.
  public func run(host: String, port: Int, onListening: @escaping @Sendable (Int) -> Void) async throws {
    var quiet = logger
    if quiet.logLevel > .debug { quiet.logLevel = .critical }
    let connections = OpenConnections(.metrics)
    let application = Hummingbird.Application(
      responder: CallbackResponder<ConnectionContext> { request, _ in await reply(to: request) },
      server: HTTPServerBuilder { responder in
        CountedChannel(
          base: HTTP1Channel(responder: responder, configuration: .init(idleTimeout: .seconds(Self.idleTime))),
          connections: connections)
      },
      configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
      onServerRunning: { channel in onListening(channel.localAddress?.port ?? port) }, logger: quiet)
    try await application.run()
  }

  private func reply(to request: Request) async -> Response {
    guard request.method == .get || request.method == .head else { return Self.text(.methodNotAllowed, "GET only\n") }
    do {
      switch request.uri.path {
      case "/metrics": return Self.text(.ok, await service.metricsText(), type: Self.contentType)
      case "/healthz":
        _ = try await service.core.health()
        return Self.text(.ok, "ok\n")
      case "/readyz":
        if let reason = try await service.unreadiness() { return Self.text(.serviceUnavailable, reason + "\n") }
        return Self.text(.ok, "ok\n")
      default: return Self.text(.notFound, "/metrics, /healthz and /readyz are here\n")
      }
    } catch {
      service.core.tell(storageFailure: error)
      return Self.text(.serviceUnavailable, "the storage does not work\n")
    }
  }

  private static func text(
    _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
  ) -> Response {
    Response(
      status: status, headers: [.contentType: type, .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
