import HostState
import HostSystem

/// Whether sign-in by phone works on this computer, without what `check` looks at besides.
public struct HostStatus {
  /// What one bounded try at the service has found.
  public let service: [Finding]
  /// PAM services that ask the phone.
  public let asking: [String]
  /// What is wrong with PAM and sshd.
  public let problems: [Finding]

  /// Looks at PAM's files and sshd's settings, and asks the service.
  ///
  /// - Parameters:
  ///   - pamFolder: such as `/etc/pam.d`.
  ///   - milliseconds: how long the service may take, for all that it is asked.
  public init(_ setup: HostSetup, pamFolder: String, within milliseconds: Int64) {
    let deadline = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    // A configuration without a server is one that ``HostSetup/serviceSettings()`` refuses.
    do throws(Misconfiguration) {
      _ = try setup.serviceSettings()
      _ = try setup.credential()
      service = ServiceChecks(setup: setup, deadline: deadline)?.findings() ?? []
    } catch {
      service = [Finding(.problem, .configuration, error.explanation, hint: error.hint)]
    }
    let pam = PAMChecks(
      folder: pamFolder, configuration: setup.configuration, path: setup.configurationPath, sudoers: Sudoers.settings())
    asking = pam.asking()
    let lost = LostLineFindings.findings(setup.configuration, pamFolder: pamFolder)
    problems = (pam.findings() + lost).filter { $0.level == .problem }
  }
}
