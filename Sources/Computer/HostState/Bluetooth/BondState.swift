import PresenceLink

/// Whether a bound phone's pairing is still the pinned one.
public enum BondState: String, Sendable {
  /// The bond has the pinned key.
  case bound
  case keyChanged = "key changed"
  case bondMissing = "bond missing"
  /// Digits were not compared when the phone was paired, but the configuration requires it.
  case keyNotAuthenticated = "key not authenticated"

  /// - Parameters:
  ///   - pinned: SHA-256 of the key with which the phone was bound.
  ///   - device: BlueZ's bond with the phone; nil if there is none.
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

  /// Why the phone's presence is not known; nil if the phone can be looked for.
  public var ignorance: ProbeAnswer? {
    switch self {
    case .bound: nil
    case .keyChanged: .unknown("key-changed")
    case .bondMissing: .unknown("bond-missing")
    case .keyNotAuthenticated: .unknown("key-not-authenticated")
    }
  }
}
