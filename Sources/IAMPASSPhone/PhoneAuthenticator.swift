import DeviceProtocol
import IAMPASSProtocol

/// The phone's screen lock, as a WebAuthn authenticator: it proves the method `device`.
///
/// The relying party's id is the host of the service's origin. Each answer of it needs the user verification of
/// WebAuthn: a finger, a face or a PIN.
public protocol PhoneAuthenticator {
  /// Makes a credential of ECDSA P-256, after the user unlocked the screen.
  ///
  /// - Parameters:
  ///   - challenge: 32 bytes.
  ///   - origin: scheme, host and port of the service: the client data's `origin`.
  /// - Returns: nil if the user declined.
  func makeCredential(challenge: [UInt8], origin: String) throws -> UnverifiedCredential?

  /// Signs with a credential that it made, after the user unlocked the screen.
  ///
  /// - Parameters:
  ///   - credential: the credential's id, as base64url.
  ///   - challenge: 32 bytes.
  /// - Returns: nil if the user declined.
  func assertion(of credential: String, challenge: [UInt8], origin: String) throws -> UnverifiedAssertion?
}
