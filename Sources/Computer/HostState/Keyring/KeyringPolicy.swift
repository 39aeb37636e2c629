/// Whether the keyring opens after a sign-in by phone: `keyring` of `iampass.conf`.
public enum KeyringPolicy: String, Sendable, CaseIterable {
  /// It stays locked, and asks for its own password.
  case off
  /// The login password is kept sealed to this computer, and handed to the keyring's module after an approval.
  case sealed
}

/// What a module line with the word `keyring` does. The line stands behind those that say who somebody is.
public enum KeyringAct: Sendable, Equatable {
  /// A phone approved, and no password is there: the sealed one is handed on.
  case give
  /// A password was taken, and no phone approved: it is sealed once the session is open.
  case keep
  case nothing

  /// - Parameters:
  ///   - approved: whom a phone approved in this pass through the stack; nil without an approval.
  ///   - user: PAM_USER now.
  ///   - hasPassword: PAM_AUTHTOK is set.
  public static func of(approved: [UInt8]?, user: [UInt8], hasPassword: Bool) -> KeyringAct {
    switch (approved, hasPassword) {
    case (nil, true): .keep
    // The name can have changed since.
    case (let approved?, false): approved == user ? .give : .nothing
    // Both were wanted, and the keyring's module has the password already.
    case (_?, true): .nothing
    case (nil, false): .nothing
    }
  }
}
