import IAMPASSProtocol

/// A request with what was read from it.
final class Call: Sendable {
  let request: ServiceRequest
  let address: PublicAddress
  let target: RequestTarget
  /// Who sent it, for limits and the audit.
  let client: ClientAddress

  init(request: ServiceRequest, address: PublicAddress, target: RequestTarget, client: ClientAddress) {
    self.request = request
    self.address = address
    self.target = target
    self.client = client
  }

  var signedURIs: [String] { address.signedURIs(request.target) }

  /// The refusal of a request that a correct signature would not cover, or not wholly.
  func refusal(of route: Route) -> ServiceReply? {
    if route.failureGroup == .signed, RequestSigner.isAmbiguous(target: request.target.utf8[...]) {
      return .refused(.badRequest)
    }
    // Optional: other clients send no digest. An intermediary cannot strip it, because it is signed.
    guard !target.has(BodyDigest.name) || target.value(BodyDigest.name) == BodyDigest.value(of: request.body) else {
      return .refused(.wrongBody)
    }
    return nil
  }
}
