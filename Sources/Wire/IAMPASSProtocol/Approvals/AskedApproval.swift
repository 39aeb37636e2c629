/// What one request asked the phone to sign.
package struct AskedApproval: Sendable {
  package let demand: ApprovalDemand
  package let challenge: ApprovalChallenge
  /// Two digits, shown at the terminal. Empty if the context says that none are shown: the phone then must sign none. Not
  /// judged for a document, whose digest says more.
  package let code: Secret
  /// ``ShownContext/hash(_:)`` of the context that is sent.
  package let contextHash: String
  /// The service's, as the phone spells it.
  package let origin: String
  /// The digest of the document that the phone must have computed; nil: it must not say that it showed one.
  package let document: [UInt8]?

  package init(
    _ demand: ApprovalDemand, challenge: ApprovalChallenge, code: Secret, context: SignInContext, origin: String,
    document: [UInt8]? = nil
  ) {
    self.demand = demand
    self.challenge = challenge
    // The phone signs an empty code with such a context, and only with one.
    self.code = context.isWithoutCode ? Secret("") : code
    contextHash = ShownContext.hash(context)
    self.origin = origin
    self.document = document
  }
}
