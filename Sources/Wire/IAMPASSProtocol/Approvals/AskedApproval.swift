/// The values that one request asked the phone to sign.
package struct AskedApproval: Sendable {
  package let demand: ApprovalDemand
  package let challenge: ApprovalChallenge
  /// Two digits, shown at the terminal. Empty if the context says that none are shown: the phone must then sign an
  /// empty code. Not checked for a document, whose digest is enough.
  package let code: Secret
  /// ``ShownContext/hash(_:)`` of the context that is sent.
  package let contextHash: String
  /// The service's origin, as the phone spells it.
  package let origin: String
  /// The document's digest, which the phone must have computed; nil: the phone must not sign one.
  package let document: [UInt8]?

  package init(
    _ demand: ApprovalDemand, challenge: ApprovalChallenge, code: Secret, context: SignInContext, origin: String,
    document: [UInt8]? = nil
  ) {
    self.demand = demand
    self.challenge = challenge
    // The phone signs an empty code only with such a context, and always with one.
    self.code = context.isWithoutCode ? Secret("") : code
    contextHash = ShownContext.hash(context)
    self.origin = origin
    self.document = document
  }
}
