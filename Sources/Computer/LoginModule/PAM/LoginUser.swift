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

  /// - Parameter lookUp: getpwnam(3); a directory may know `Alice` and spell it `alice`. It is asked about a name that is
  ///   not valid in our files too: that may be another spelling of a user who has a token.
  init(
    given: String, bytes: [UInt8],
    lookUp: ([UInt8]) throws(UserLookupError) -> SystemUser? = SystemUser.find(spelled:)
  ) {
    self.given = given
    givenBytes = bytes
    lookup = Result { () throws(UserLookupError) in try lookUp(bytes) }
    asked = (try? lookup.get())?.name ?? UnixUsername(validating: given) ?? Self.nobodysName
  }

  /// Nil for a name that the system does not know, or could not look up; such a name never signs in.
  var known: SystemUser? { try? lookup.get() }

  /// The name for the log, as in the session's record. Nil for an unknown name, which may be a password that was typed
  /// at the wrong prompt.
  var logged: String? { known?.name.text }
}
