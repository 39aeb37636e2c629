import DeviceProtocol
import IAMPASSProtocol

/// What a phone said and signed, proven: this live phone said it, to this service.
struct VerifiedStatement: Sendable {
  /// As last read.
  var phone: Phone
  let user: Int64
  let statement: JSON
  let signature: String
  /// The authenticator's assertion, which is checked separately; nil if the phone sent none.
  let assertion: UnverifiedAssertion?
}
