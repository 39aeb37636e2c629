// The answers that modules would give in a simulated sign-in.

extension PAMLine {
  /// Modules that prove nothing about the user. Their success does not replace a password.
  private static let neutral: Set<String> = [
    "pam_permit", "pam_env", "pam_faildelay", "pam_nologin", "pam_cap", "pam_gnome_keyring", "pam_kwallet",
    "pam_kwallet5", "pam_limits", "pam_motd", "pam_mail", "pam_group", "pam_echo", "pam_warn", "pam_debug",
    "pam_securetty", "pam_shells", "pam_mount", "pam_ecryptfs", "pam_keyinit", "pam_loginuid", "pam_umask",
    "pam_selinux", "pam_apparmor", "pam_tally2", "pam_faillock", "pam_issue", "pam_ftp",
  ]
  /// Modules whose answer depends on the user. They count as the answer that opens less. Security keys are judged
  /// separately.
  private static let conditions: Set<String> = [
    "pam_succeed_if", "pam_listfile", "pam_time", "pam_access", "pam_wheel", "pam_localuser", "pam_usertype",
    "pam_rootok", "pam_rhosts", "pam_exec", keyModule,
  ]

  /// Whether the module's answer only decides which lines follow.
  package var isCondition: Bool { ["pam_succeed_if", "pam_listfile"].contains(moduleName) }

  /// Whether the module compares a name's spelling. A directory may accept several spellings.
  package var comparesNames: Bool {
    moduleName == "pam_listfile" && arguments.contains("item=user")
      || moduleName == "pam_succeed_if"
        && ["user", "login", "name"].contains { word in
          arguments.firstIndex(of: word).map { $0 + 1 < arguments.count && !arguments[$0 + 1].hasSuffix("group") }
            ?? false
        }
  }

  /// Whether the module asks for something that only the user knows or has.
  package var isFactor: Bool {
    moduleName != "pam_deny" && moduleName != Self.ownModule && moduleName != Self.keyModule
      && !Self.neutral.contains(moduleName)
      && !Self.conditions.contains(moduleName)
  }

  /// Modules that can replace a password by another check.
  private static let vouching: Set<String> = ["pam_rootok", "pam_rhosts", "pam_exec", keyModule]

  /// Whether the module's success does not authenticate the user.
  package var provesNothing: Bool {
    !isFactor && moduleName != Self.ownModule && !Self.vouching.contains(moduleName)
  }

  /// The module's answer in a simulated sign-in of a user who is not root.
  package func presumedResult(passwordRight: Bool) -> PAMResult {
    switch moduleName {
    case "pam_deny": .authErr
    case "pam_faillock" where arguments.contains("authfail"): .authErr
    case let name where Self.conditions.contains(name): passesOverOnSuccess ? .authErr : .success
    case let name where Self.neutral.contains(name): .success
    default: passwordRight ? .success : .authErr
    }
  }
}
