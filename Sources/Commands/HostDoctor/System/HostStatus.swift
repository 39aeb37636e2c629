import HostState
import HostSystem

/// Whether sign-in by phone works on this computer. `check` examines more.
public struct HostStatus {
  /// The findings of one bounded attempt to reach the service.
  public let service: [Finding]
  /// PAM services that ask the phone.
  public let asking: [String]
  /// Problems of PAM and sshd.
  public let problems: [Finding]

  /// Reads PAM's files and sshd's settings, and asks the service.
  ///
  /// - Parameters:
  ///   - pamFolder: PAM's folder, such as `/etc/pam.d`.
  ///   - milliseconds: the longest time for all questions to the service.
  public init(_ setup: HostSetup, pamFolder: String, within milliseconds: Int64) {
    let deadline = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    // ``HostSetup/serviceSettings()`` throws if the configuration has no server.
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
