import DeviceProtocol
import IAMPASSProtocol

/// An app's own recognition of its user's face, for the method `facial`.
///
/// The service accepts it only if the application's settings allow it, and notes it as the app's word in its audit.
/// Computers that verify approvals themselves do not accept it.
public protocol PhoneFace {
  /// Looks at the user now, for this request.
  ///
  /// - Returns: whether it is the account's user. If false, nothing is sent.
  func recognizesUser(for request: OpenRequest) throws -> Bool
}

/// The phone's screen lock, as a WebAuthn authenticator: it proves the method `device`.
///
/// The relying party's id is the host of the service's origin. Each answer needs WebAuthn's user verification: a
/// finger, a face or a PIN.
public protocol PhoneAuthenticator {
  /// Makes a credential of ECDSA P-256, after the user has unlocked the screen.
  ///
  /// - Parameters:
  ///   - challenge: 32 bytes.
  ///   - origin: scheme, host and port of the service: the client data's `origin`.
  /// - Returns: nil if the user declined.
  func makeCredential(challenge: [UInt8], origin: String) throws -> UnverifiedCredential?

  /// Signs with a credential that this authenticator made, after the user has unlocked the screen.
  ///
  /// - Parameters:
  ///   - credential: the credential's id, as base64url.
  ///   - challenge: 32 bytes.
  /// - Returns: nil if the user declined.
  func assertion(of credential: String, challenge: [UInt8], origin: String) throws -> UnverifiedAssertion?
}
