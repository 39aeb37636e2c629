import IAMPASSProtocol

/// Why the service refuses a request. It is returned, while failures of the storage are thrown.
struct Refusal: Error {
  /// The phone was revoked, maybe after its signature was checked.
  static let cutOff = Refusal(.deviceCutOff)

  let reason: Reason
  /// What an authenticator's assertion lacks, only for the log.
  let detail: CredentialRefusal?

  init(_ reason: Reason, detail: CredentialRefusal? = nil) {
    self.reason = reason
    self.detail = detail
  }
}
