import IAMPASSProtocol

/// A request with the values that were read from it.
final class Call: Sendable {
  let request: ServiceRequest
  let address: PublicAddress
  let target: RequestTarget
  /// The sender, for limits and the audit.
  let client: ClientAddress

  init(request: ServiceRequest, address: PublicAddress, target: RequestTarget, client: ClientAddress) {
    self.request = request
    self.address = address
    self.target = target
    self.client = client
  }

  var signedURIs: [String] { address.signedURIs(request.target) }

  /// The refusal of a request that a valid signature would not cover completely; nil if it would.
  func refusal(of route: Route) -> ServiceReply? {
    if route.failureGroup == .signed, RequestSigner.isAmbiguous(target: request.target.utf8[...]) {
      return .refused(.badRequest)
    }
    // The digest is optional, because other clients do not send one. An intermediary cannot remove it, because it is
    // signed.
    guard !target.has(BodyDigest.name) || target.value(BodyDigest.name) == BodyDigest.value(of: request.body) else {
      return .refused(.wrongBody)
    }
    return nil
  }
}
