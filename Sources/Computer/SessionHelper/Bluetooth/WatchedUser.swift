import HostState
import HostSystem

/// A user at a seat whose phones are looked for. Times are milliseconds after boot.
final class WatchedUser {
  let user: UnixUsername
  /// The user's bound phones; at least one.
  let phones: [BoundPhone]
  var watch: BluetoothWatch { didSet { if watch.phase != oldValue.phase { hasNewPhase = true } } }
  /// When the phase began.
  private(set) var since: Int64
  /// When the next round of looks begins.
  var nextProbe: Int64
  var isProbing = false
  private var hasNewPhase = false

  init(_ user: UnixUsername, _ phones: [BoundPhone], _ watch: BluetoothWatch, since: Int64, now: Int64) {
    self.user = user
    self.phones = phones
    self.watch = watch
    self.since = since
    nextProbe = now
  }

  /// Notes the time if a phase has begun since the last call.
  func datePhase(_ now: Int64) {
    if hasNewPhase { since = now }
    hasNewPhase = false
  }
}

extension UserPresence.State {
  init(_ phase: BluetoothWatch.Phase) {
    self =
      switch phase {
      case .unarmed: .unarmed
      case .armed: .armed
      case .doubtful: .doubtful
      case .left: .left
      case .blind: .blind
      }
  }
}
