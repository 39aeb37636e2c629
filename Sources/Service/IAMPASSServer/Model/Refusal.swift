import IAMPASSProtocol

/// Why the service does not do what a request asks for. It is returned; failures of the storage are thrown.
struct Refusal: Error {
  /// The phone was cut off, maybe since its signature was checked.
  static let cutOff = Refusal(status: 403, reason: .deviceCutOff)

  let status: Int
  let reason: Reason
  /// What an authenticator's assertion lacks; for the log alone.
  var detail: CredentialRefusal?
}
