import Glibc
import HostState
import HostSystem

/// One session that is being locked. logind asks its screen to lock; then it is read until it shows that it is locked.
///
/// Times are milliseconds after boot.
final class ScreenLock {
  /// The time that a locker has to start, in milliseconds. A locker that is later does not count.
  private static let hintTime: Int64 = 5_000
  private static let checkInterval: Int64 = 500

  enum Outcome: Sendable, Equatable {
    case underWay
    case confirmed(Sign)
    case failed
    /// The session is gone, or its id is another session's now.
    case gone
  }

  /// What shows that the screen is locked. Both signs come from the user's own processes, which can forge them.
  enum Sign: Sendable, Equatable {
    case hint
    /// A locker runs in the session, and ran at the last look too.
    case locker(String)
  }

  let cause: Cause
  private let binding: SessionRecord.Binding
  private let uid: UInt32
  private let presence: (ProcessIdentity) -> ProcessIdentity.Presence
  private var askedAt: Int64?
  private var end: Int64
  private(set) var due: Int64
  /// The locker at the last look. A locker that cannot lock ends at once.
  private var seen: RunningLocker?

  /// - Parameter presence: what `/proc` says of the session's leader.
  init(
    _ binding: SessionRecord.Binding, uid: UInt32, _ cause: Cause, now: Int64,
    presence: @escaping (ProcessIdentity) -> ProcessIdentity.Presence = \.presence
  ) {
    self.binding = binding
    self.uid = uid
    self.presence = presence
    self.cause = cause
    end = now + Self.hintTime
    due = now
  }

  /// The helper may look late: each call of a slow logind lasts up to 2 s, and a virtual machine may pause. The locker may
  /// have run long since, but must be seen twice.
  func step(_ logind: any Logind, _ seat: any Seat, now: Int64) -> Outcome {
    let delay = now - due
    if delay > Self.checkInterval { end += delay }
    guard askedAt != nil else { return ask(logind, now) }
    if (try? logind.lockedHint(binding.logindSession)) == true { return .confirmed(.hint) }
    let locker = seat.locker(inSession: binding.logindSession, of: uid)
    if let locker, locker == seen { return .confirmed(.locker(locker.name)) }
    seen = locker
    guard now < end else { return .failed }
    due = now + Self.checkInterval
    return .underWay
  }

  /// The computer slept. The locker gets its whole time after that, and is seen twice after that.
  func wokeUp(_ now: Int64) {
    end = now + Self.hintTime
    due = now
    seen = nil
  }

  private func ask(_ logind: any Logind, _ now: Int64) -> Outcome {
    due = now + Self.checkInterval
    switch logind.session(binding.logindSession) {
    case .gone: return .gone
    case .unclear: break
    case .there(let found):
      guard binding.matches(found, of: uid, leader: .mayHaveEnded) else { return .gone }
      switch presence(binding.leader) {
      case .gone: return .gone
      // The screen cannot be read just now. It is read again, and the lock fails if that lasts.
      case .unknown: return now < end ? .underWay : .failed
      case .alive: break
      }
      if (try? logind.lockSession(found.id)) != nil { askedAt = now }
    }
    return now < end ? .underWay : .failed
  }
}

extension ScreenLock.Sign {
  /// For the log.
  var explanation: String {
    switch self {
    case .hint: "by logind's hint"
    case .locker(let name): "since \(name) runs"
    }
  }
}
