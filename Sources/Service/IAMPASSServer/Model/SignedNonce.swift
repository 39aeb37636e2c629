import IAMPASSProtocol

/// The nonce of a request with a verified signature.
struct SignedNonce: Sendable {
  /// From a request's stamp until its nonce may be forgotten, in seconds: the time by which a client's clock may be off,
  /// and as much again, since the service's own clock may be set back a little.
  static let lifetime: Int64 = 2 * RequestSigner.clockWindow

  /// The signing client. Nonces of different owners are independent.
  let owner: String
  let value: String
  /// When the request's time stamp alone refuses it; by the wall clock.
  let forgetAt: UnixTime
  /// The host credential that signed; nil for other clients.
  var credential: String?
}
