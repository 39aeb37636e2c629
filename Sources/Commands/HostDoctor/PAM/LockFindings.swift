import HostState

/// Findings about screen lockers that do not show the helper that the screen is locked, or that were not tested. The
/// helper logs their sessions out by ``Configuration/onLockFailure``, although the screen is locked.
public struct LockFindings {
  public let configuration: Configuration
  /// The PAM services of this computer.
  public let services: [String]
  /// Whether ``LightLocker`` locks screens here.
  public let hasLightLocker: Bool

  public init(configuration: Configuration, services: [String], hasLightLocker: Bool = false) {
    self.configuration = configuration
    self.services = services
    self.hasLightLocker = hasLightLocker
  }

  public var findings: [Finding] {
    let keys = lockingKeys.joined(separator: ", ")
    guard !keys.isEmpty, configuration.onLockFailure == .logout else { return [] }
    let silent = services.filter { ServiceTable.row($0)?.lockSign == .silent }
    let light = hasLightLocker ? [LightLocker.program] : []
    let untried = services.filter { ServiceTable.row($0)?.lockSign == .untried }
    let tellsNobody = "does not tell logind that the screen is locked: \(keys) would log such a session out"
    return [
      finding(silent, tellsNobody),
      // It tells the session's bus of a dark screen, and not of a locked one, so that the manual's script is of no use.
      finding(light, tellsNobody, hint: "set on_lock_failure = ignore, or use another locker"),
      finding(untried, "was not tried: if it does not set logind's LockedHint, \(keys) would log such a session out"),
    ].compactMap(\.self)
  }

  private func finding(
    _ lockers: [String], _ text: String,
    hint: String = "set LockedHint as iampass-helper(8) shows, or on_lock_failure = ignore"
  ) -> Finding? {
    guard !lockers.isEmpty else { return nil }
    return Finding(.warning, .configuration, "\(lockers.joined(separator: ", ")) \(text)", hint: hint)
  }

  /// The configuration keys that are set to lock a screen.
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
