import HostState

/// What is said of screen lockers that do not tell logind when the screen is locked: the helper logs their sessions out
/// after ``Configuration/onLockFailure``, although the screen is locked.
public struct LockFindings {
  public let configuration: Configuration
  /// PAM services of this computer.
  public let services: [String]

  public init(configuration: Configuration, services: [String]) {
    self.configuration = configuration
    self.services = services
  }

  public var findings: [Finding] {
    let silent = services.filter { DesktopServices.silentLockers.contains($0) }
    let keys = lockingKeys
    guard !silent.isEmpty, !keys.isEmpty, configuration.onLockFailure == .logout else { return [] }
    return [
      Finding(
        .warning, .configuration,
        "\(silent.joined(separator: ", ")) does not tell logind that the screen is locked: \(keys.joined(separator: ", "))"
          + " would log such a session out",
        hint: "set LockedHint as iampass-helper(8) shows, or on_lock_failure = ignore")
    ]
  }

  /// The keys in force that lock a screen.
  private var lockingKeys: [String] {
    let looksForPhones = configuration.presence == .bluetooth
    let actions: [(key: String, action: Configuration.EndAction)] = [
      ("on_walkaway", configuration.onWalkaway), ("on_end", configuration.onEnd), ("on_expiry", configuration.onExpiry),
      ("on_unreachable", configuration.onUnreachable ?? .lock),
      ("on_presence_left", looksForPhones ? configuration.onPresenceLeft : .ignore),
      ("on_presence_unknown", looksForPhones ? configuration.onPresenceUnknown : .ignore),
    ]
    return actions.filter { $0.action == .lock }.map(\.key)
  }
}
