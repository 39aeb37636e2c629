import HostState
import HostSystem

/// The user of a sign-in: the host's name, and the system's user of that name.
struct LoginUser {
  /// Takes the place of invalid names, so that sshd's prompt is the same for all.
  private static let nobodysName = UnixUsername(validating: "unknown")

  /// PAM_USER as the host has it.
  let given: String
  /// The same as bytes, which are compared after the phone was asked.
  let givenBytes: [UInt8]
  /// The system's user of this name; nil if there is none.
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

  /// The name for the log, as in the session's record. Nil for an unknown name, which may be a password that was typed
  /// at the wrong prompt.
  var logged: String? { known?.name.text }
}
