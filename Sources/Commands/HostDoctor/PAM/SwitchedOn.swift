/// The message at the end of `enable`.
public enum SwitchedOn {
  /// - Parameters:
  ///   - services: the services in force.
  ///   - sshdAsks: whether sshd asks PAM. Otherwise listing it has no effect.
  public static func text(_ services: [String], sshdAsks: Bool) -> String {
    let asking = services.filter { sshdAsks || $0 != "sshd" }
    return asking.isEmpty
      ? "the profiles are on, but no service asks the phone"
      : "sign-in by phone is on for \(asking.joined(separator: ", "))"
  }
}
