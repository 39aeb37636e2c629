import IAMPASSProtocol

/// Why the service does not do what a request asks for. It is returned; failures of the storage are thrown.
struct Refusal: Error {
  /// The phone was cut off, maybe since its signature was checked.
  static let cutOff = Refusal(.deviceCutOff)

  let reason: Reason
  /// What an authenticator's assertion lacks; for the log alone.
  let detail: CredentialRefusal?

  init(_ reason: Reason, detail: CredentialRefusal? = nil) {
    self.reason = reason
    self.detail = detail
  }
}
