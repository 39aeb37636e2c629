/// Whether the keyring opens after a sign-in by phone: `keyring` of `iampass.conf`.
public enum KeyringPolicy: String, Sendable, CaseIterable {
  /// The keyring stays locked, and asks for its own password.
  case off
  /// The login password is kept sealed to this computer. After an approval the keyring's module gets it.
  case sealed
}

/// What a module line with the word `keyring` does. The line stands after those that authenticate the user.
public enum KeyringAct: Sendable, Equatable {
  /// A phone approved and PAM has no password: the sealed password is given to the modules that follow.
  case give
  /// The user signed in by password, without a phone's approval. The password is sealed once the session is open.
  case keep
  case nothing

  /// - Parameters:
  ///   - approved: the user whom a phone approved in this pass through the stack; nil without an approval.
  ///   - user: PAM_USER now.
  ///   - hasPassword: PAM_AUTHTOK is set.
  public static func of(approved: [UInt8]?, user: [UInt8], hasPassword: Bool) -> KeyringAct {
    switch (approved, hasPassword) {
    case (nil, true): .keep
    // PAM_USER may have changed since the approval.
    case (let approved?, false): approved == user ? .give : .nothing
    // Both were required, and the keyring's module already has the password.
    case (_?, true): .nothing
    case (nil, false): .nothing
    }
  }
}
