import DeviceProtocol
import IAMPASSProtocol

/// A verified statement: this live phone has signed it for this service.
struct VerifiedStatement: Sendable {
  /// The phone as last read.
  var phone: Phone
  let user: Int64
  let statement: JSON
  let signature: String
  /// The authenticator's assertion, which is checked separately; nil if the phone sent none.
  let assertion: UnverifiedAssertion?
}
