import HostState

extension SSHDSettings {
  /// The warning that sshd's `password` method rings the phone for every password that somebody tries.
  ///
  /// In that method sshd asks PAM in the connection's own process, and all connections of a user from one address count
  /// as one (``SSHConnection``). A denial then also refuses the user's own sign-ins from there.
  ///
  /// - Parameter place: the place of the line that rings the phone at once, even if the password is wrong; nil if the
  ///   stack does not have one.
  func passwordFindings(ringing place: String?) -> [Finding] {
    guard let place, self["usepam"] == "yes", self["passwordauthentication"] == "yes",
      SSHDMethods(self["authenticationmethods"] ?? "any").beginWithPassword(self)
    else { return [] }
    return [
      Finding(
        .warning, .sshd,
        "sshd: PasswordAuthentication is on and \(place) has prompt=push: every password that somebody tries rings the "
          + "phone, and a denial refuses the user's own passwords from the same address for "
          + "\(ConnectionMemory.greatestAge / 60) minutes",
        hint: "set prompt=choose in that line, or PasswordAuthentication no in a file of /etc/ssh/sshd_config.d that "
          + "sorts first")
    ]
  }
}
