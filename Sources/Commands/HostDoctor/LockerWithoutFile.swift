import CommandSupport
import HostState

/// A locker that is installed but has no PAM file. It uses another service, which does not ask the phone. Debian's
/// xsecurelock does this.
public enum LockerWithoutFile {
  /// Nil if the service is not a locker, or if the locker is not installed.
  ///
  /// - Parameter service: a service without a file in `folder`.
  public static func finding(
    _ service: String, folder: String, isInstalled: (String) -> Bool = { Program.exists("/usr/bin/\($0)") }
  ) -> Finding? {
    guard DesktopServices.isLocker(service), isInstalled(service) else { return nil }
    return Finding(
      .warning, .pam, "\(service) is installed, but there is no \(folder)/\(service): it asks for the password only",
      hint: "give it one; see " + (service == "xsecurelock" ? "xsecurelock in iampass-broker(8)" : "iampass-broker(8)"))
  }
}
