import PAMStacks

/// The lines that pam-auth-update would write for the two profiles, for administrators who must write them by hand.
public struct ProfileLines: Sendable, Equatable {
  public let auth: String
  /// The module before whose line it must be; nil: at the top.
  public let above: String?
  public static let session = "session [session_err=die default=ignore] pam_iampass.so"

  /// - Parameter stack: common-auth as it is now, without the module.
  public init(auth stack: [PAMEntry]) {
    let lines = stack.flatMap(\.lines)
    let first = lines.firstIndex(where: \.isFactor) ?? 0
    above = first < lines.count ? lines[first].moduleName : nil
    // An approval skips all lines up to the refusal that ends the password part.
    let jump = lines[first...].firstIndex { $0.moduleName == "pam_deny" }.map { $0 - first + 1 }
    let success = jump.map(String.init) ?? "done"
    auth = "auth [success=\(success) maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so"
  }
}
