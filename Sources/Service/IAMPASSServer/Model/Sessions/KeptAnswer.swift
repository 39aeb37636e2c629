import DeviceProtocol
import IAMPASSProtocol

/// A signed answer, as it is kept. A reader of the database can verify what was shown, and which phone answered.
struct KeptAnswer: Sendable {
  /// The greatest size of the phone's message in bytes. An authenticator's assertion in it takes some hundred.
  static let greatestLength = 8_192
  /// How long an answer is kept, in seconds: longer than a session and questions about it.
  static let lifetime: Int64 = 400 * 86_400

  let session: String
  let phone: Phone
  /// The signed statement in canonical JSON. Its `context_hash` is the hash of `context`.
  let statement: String
  let signature: String
  /// The shown context in canonical JSON.
  let context: String
  /// The authenticator's assertion, with the key that verifies it; nil for a tap.
  let assertion: (proof: UnverifiedAssertion, publicKey: String)?
}
