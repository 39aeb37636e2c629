import CommandSupport
import HostState

/// A locker that is installed and has no PAM file: it asks under another name, by which no phone is asked. Debian's
/// xsecurelock does.
public enum LockerWithoutFile {
  /// Nil for what is not a locker, and for a locker that is not installed.
  ///
  /// - Parameter service: has no file in `folder`.
  public static func finding(
    _ service: String, folder: String, isInstalled: (String) -> Bool = { Program.exists("/usr/bin/\($0)") }
  ) -> Finding? {
    guard DesktopServices.isLocker(service), isInstalled(service) else { return nil }
    return Finding(
      .warning, .pam, "\(service) is installed, but there is no \(folder)/\(service): it asks for the password only",
      hint: "give it one; see " + (service == "xsecurelock" ? "xsecurelock in iampass-broker(8)" : "iampass-broker(8)"))
  }
}
