import HostSystem
import IAMPASSProtocol
import WorkerLink

/// Signs requests, sends them, and gives back replies whose status and signature were looked at.
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

  /// For a caller that checks the reply itself, since it reads a refusal too.
  func uncheckedReply(to sealed: SealedRequest, deadline: MonotonicInstant) throws(ServiceError) -> HTTPReply {
    do { return try transport.exchange(sealed.request, deadline: deadline) } catch { throw .transport(error) }
  }
}
