import IAMPASSProtocol

/// A request with what was read from it.
struct Call: Sendable {
  let request: ServiceRequest
  let address: PublicAddress
  let target: RequestTarget
  /// Who sent it, as far as limits and the audit go.
  let client: ClientAddress

  var signedURIs: [String] { address.signedURIs(request.target) }

  /// For what a right signature cannot be about, or not wholly.
  func refusal(of route: Route) -> ServiceReply? {
    if route.failureGroup == .signed, RequestSigner.isAmbiguous(target: request.target.utf8[...]) {
      return .refused(400, .badRequest)
    }
    // Other makes of clients send none; whoever carries the request cannot take it off, since the signature covers it.
    guard !target.has(BodyDigest.name) || target.value(BodyDigest.name) == BodyDigest.value(of: request.body) else {
      return .refused(400, .wrongBody)
    }
    return nil
  }
}
