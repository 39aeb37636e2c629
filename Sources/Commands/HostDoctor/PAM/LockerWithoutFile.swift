import HostState
import PAMStacks

/// A locker that is installed and has no PAM file: it asks under a name that nobody knows, by which no phone is asked.
public enum LockerWithoutFile {
  /// Nil if the service is not a locker, or if the locker is not installed.
  ///
  /// - Parameter service: has no file to go by in `folder`.
  public static func finding(
    _ service: String, folder: String, isInstalled: (String) -> Bool = PAMReader.isInstalled
  ) -> Finding? {
    guard DesktopServices.isLocker(service), isInstalled(service) else { return nil }
    return Finding(
      .warning, .pam, "\(service) is installed, but there is no \(folder)/\(service): it asks for the password only",
      hint: "give it one with the lines @include common-auth and @include common-account")
  }
}
