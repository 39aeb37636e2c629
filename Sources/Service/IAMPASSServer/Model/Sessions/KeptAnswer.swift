import DeviceProtocol
import IAMPASSProtocol

/// A signed answer. Anyone with the database can check again what was shown, and which phone answered.
struct KeptAnswer: Sendable {
  /// Bytes of the phone's message; an authenticator's word is in it, which takes some hundred. More would be kept for
  /// nothing.
  static let greatestLength = 8_192
  /// Seconds: longer than a session and whatever is asked about it later.
  static let lifetime: Int64 = 400 * 86_400

  let session: String
  let phone: Phone
  /// Canonical JSON; its `context_hash` is that of `context`.
  let statement: String
  let signature: String
  /// What was shown, canonical JSON.
  let context: String
  /// The authenticator's, with the key that it is to be checked with; nil for a tap.
  let assertion: (proof: UnverifiedAssertion, publicKey: String)?
}
