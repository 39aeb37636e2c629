import HostSystem
import IAMPASSProtocol
import WorkerLink

/// Signs and sends requests. Returns replies whose status and signature were checked.
final class SignedChannel {
  let seal: RequestSeal
  let transport: any HTTPTransport

  init(seal: RequestSeal, transport: any HTTPTransport) {
    self.seal = seal
    self.transport = transport
  }

  /// Sends one request and returns its 2xx reply.
  func send(
    _ method: HTTPRequest.Method, _ url: String, by signer: RequestSigner, preferWait: Int64? = nil,
    body: [UInt8] = [], deadline: MonotonicInstant
  ) throws(ServiceError) -> HTTPReply {
    try exchange(seal.request(method, url, by: signer, preferWait: preferWait, body: body), deadline: deadline)
  }

  /// Sends a request that is signed already.
  func exchange(_ sealed: SealedRequest, deadline: MonotonicInstant) throws(ServiceError) -> HTTPReply {
    let reply = try uncheckedReply(to: sealed, deadline: deadline)
    try seal.check(reply, to: sealed)
    return reply
  }

  /// For a caller that also reads refusals, and so checks the reply itself.
  func uncheckedReply(to sealed: SealedRequest, deadline: MonotonicInstant) throws(ServiceError) -> HTTPReply {
    do { return try transport.exchange(sealed.request, deadline: deadline) } catch { throw .transport(error) }
  }
}
