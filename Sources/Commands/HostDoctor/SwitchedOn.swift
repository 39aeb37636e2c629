/// What `enable` says at its end.
public enum SwitchedOn {
  /// - Parameters:
  ///   - services: those in force.
  ///   - sshdAsks: whether sshd asks PAM, without which its being listed does nothing.
  public static func text(_ services: [String], sshdAsks: Bool) -> String {
    let asking = services.filter { sshdAsks || $0 != "sshd" }
    return asking.isEmpty
      ? "the profiles are on, but no service asks the phone"
      : "sign-in by phone is on for \(asking.joined(separator: ", "))"
  }
}
