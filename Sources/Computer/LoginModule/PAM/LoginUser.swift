import HostState
import HostSystem

/// Whose sign-in it is: the name that the host has, and the user that the system knows by it.
struct LoginUser {
  /// Stands for names that no user can have, so that sshd's prompt is the same for all.
  private static let nobodysName = UnixUsername(validating: "unknown")

  /// PAM_USER as the host has it.
  let given: String
  /// The same, before it was made text: what is compared after the phone was asked.
  let givenBytes: [UInt8]
  /// Whom the system knows by it; nil for nobody.
  let lookup: Result<SystemUser?, UserLookupError>
  /// The name that the phone is asked about, in the system's spelling if the system knows it.
  let asked: UnixUsername?

  /// - Parameter lookUp: getpwnam(3); a directory may know `Alice` and spell it `alice`.
  init(
    given: String, bytes: [UInt8],
    lookUp: (UnixUsername) throws(UserLookupError) -> SystemUser? = SystemUser.find(named:)
  ) {
    self.given = given
    givenBytes = bytes
    let valid = UnixUsername(validating: given)
    lookup = Result { () throws(UserLookupError) in
      guard let valid else { return nil }
      return try lookUp(valid)
    }
    asked = (try? lookup.get())?.name ?? valid ?? Self.nobodysName
  }

  /// Nil for a name that the system does not know, or could not look up; such a name never signs in.
  var known: SystemUser? { try? lookup.get() }

  /// For the log: as the session's record has the name. Nil for a name that the system does not say it knows: it may be
  /// a password that somebody typed at the wrong prompt.
  var logged: String? { known?.name.text }
}
