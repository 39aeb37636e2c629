import HostState
import PAMStacks

/// light-locker, which Debian recommends for Xfce. It has no PAM service and asks nobody: it brings lightdm's greeter.
public enum LightLocker {
  public static let program = "light-locker"
  /// PAM_SERVICE of the greeter that it brings.
  static let greeter = "lightdm"

  /// Whether it locks screens here.
  ///
  /// - Parameter hasGreeter: whether lightdm's PAM file is there. Without lightdm the program has no greeter to bring.
  public static func isUsed(
    hasGreeter: Bool, isInstalled: (String) -> Bool = PAMReader.isInstalled
  ) -> Bool { hasGreeter && isInstalled(program) }

  /// Who opens a screen that it locked.
  public static func finding(_ configuration: Configuration) -> Finding {
    let brings = "\(program) brings lightdm's greeter"
    if configuration.services.contains(greeter) { return Finding(.ok, .pam, "\(brings), which asks the phone") }
    return Finding(
      .warning, .pam, "\(brings), which asks for the password only: \(greeter) is not in services",
      hint: "add \(greeter) to services")
  }
}
