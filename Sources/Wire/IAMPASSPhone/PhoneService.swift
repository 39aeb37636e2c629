import DeviceProtocol
import HostSystem
import IAMPASSProtocol
import WorkerLink

/// The phone's connection to the service: sends a body, and returns the body of a 2xx reply.
final class PhoneService {
  /// The time for a request that is not held, in milliseconds.
  private static let usualTime: Int64 = 15_000

  private let server: ServerURL
  private let transport: any HTTPTransport

  init(server: ServerURL, transport: any HTTPTransport) {
    self.server = server
    self.transport = transport
  }

  func get(_ path: [String]) throws(PhoneError) -> [UInt8] {
    try exchange(HTTPRequest(method: .get, url: server.route(path), headers: []))
  }

  /// - Parameter wait: seconds that the service may hold the request (`Prefer: wait`, RFC 7240).
  func post(_ path: [String], _ body: [UInt8], wait: Int64 = 0) throws(PhoneError) -> [UInt8] {
    var headers = [(name: "Content-Type", value: "application/json")]
    if wait > 0 { headers.append(("Prefer", "wait=\(wait)")) }
    let request = HTTPRequest(method: .post, url: server.route(path), headers: headers, body: body)
    return try exchange(request, extraTime: wait * 1_000)
  }

  private func exchange(_ request: HTTPRequest, extraTime: Int64 = 0) throws(PhoneError) -> [UInt8] {
    let reply: HTTPReply
    do {
      reply = try transport.exchange(
        request, deadline: .now().advanced(milliseconds: Self.usualTime + extraTime))
    } catch {
      throw .transport(error)
    }
    if (200..<300).contains(reply.status) { return reply.body }
    guard let refusal = try? AcknowledgementReply(parsing: reply.body), let reason = refusal.reason,
      reply.status < 500, reply.status != 429
    else { throw .unavailable(status: reply.status) }
    throw .refused(status: reply.status, reason: reason)
  }
}
