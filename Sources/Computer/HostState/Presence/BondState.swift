import PresenceLink

/// Whether a bound phone's pairing still is the one that was pinned.
public enum BondState: String, Sendable {
  /// The bond has the pinned key.
  case bound
  case keyChanged = "key changed"
  case bondMissing = "bond missing"
  /// Nobody compared digits when the phone was paired, and the configuration wants that.
  case keyNotAuthenticated = "key not authenticated"

  /// - Parameters:
  ///   - pinned: SHA-256 of the key with which the phone was bound.
  ///   - device: what BlueZ has; nil if it has no bond with the phone.
  public init(pinned: String, _ device: BondedDevice?, requiresAuthenticated: Bool = false) {
    guard let device else {
      self = .bondMissing
      return
    }
    guard device.keyDigest == pinned else {
      self = .keyChanged
      return
    }
    self = requiresAuthenticated && !device.isAuthenticated ? .keyNotAuthenticated : .bound
  }

  /// Why nothing is known of the phone; nil if it can be looked for.
  public var ignorance: ProbeAnswer? {
    switch self {
    case .bound: nil
    case .keyChanged: .unknown("key-changed")
    case .bondMissing: .unknown("bond-missing")
    case .keyNotAuthenticated: .unknown("key-not-authenticated")
    }
  }
}
