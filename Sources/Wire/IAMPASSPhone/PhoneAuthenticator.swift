import DeviceProtocol
import IAMPASSProtocol

/// An app's own recognition of its user's face: its word stands for the method `facial`.
///
/// The service takes it only if the application's settings say so, and notes in its audit that it is the app's word.
/// Computers that verify approvals themselves do not take it.
public protocol PhoneFace {
  /// Looks at the user now, for this request.
  ///
  /// - Returns: whether it is the account's user. False: nothing is sent.
  func recognizesUser(for request: OpenRequest) throws -> Bool
}

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
