import Synchronization

/// If the application wants it, a phone that says nothing for a while has left.
///
/// Only for `iampass-phone`, which always asks for requests: browsers freeze pages that are not in view.
///
/// Only a silence that this service has listened to counts: not its own absence, not the time while the setting was off,
/// and not a step of the clock.
enum PresenceBySilence {
  /// Seconds. A question is held for a minute at most, and tried again for some time.
  static let patience: Int64 = 150
  /// The longest time between two looks that counts, in seconds. A longer one means that housekeeping was held up, the
  /// computer slept, or its clock was set. The service cannot know which phones would have spoken, and counts no more
  /// than the usual pause between two looks.
  static let longestGap: Int64 = 60

  /// One look for silent phones: its time, and the applications whose phones it looked at.
  struct Look: Sendable {
    let time: UnixTime
    let applications: Set<String>

    /// The applications whose silence begins to count now: the service did not listen to them before.
    private func newcomers(since last: Look?) -> Set<String> {
      guard let last, time >= last.time else { return applications }
      return applications.subtracting(last.applications)
    }

    /// By how much the times at which an application's phones were heard last move forward, in milliseconds; never to
    /// later than this look. Nil: they stay.
    func credit(to application: String, since last: Look?) -> Int64? {
      if newcomers(since: last).contains(application) { return time.milliseconds }
      let unheard = unheard(since: last)
      return unheard > 0 ? unheard : nil
    }

    /// Milliseconds since the last look in which the service did not listen to the others.
    private func unheard(since last: Look?) -> Int64 {
      guard let last else { return 0 }
      let gap = time.milliseconds(since: last.time)
      return gap > longestGap * 1_000 ? gap - HousekeepingPace.interval * 1_000 : 0
    }
  }

  /// The last look of this process.
  final class LastLook: Sendable {
    private let look = Mutex<Look?>(nil)
    var value: Look? { look.withLock { $0 } }
    func remember(_ new: Look) { look.withLock { $0 = new } }
  }

  /// Phones of applications that count silence have left if they were last heard before.
  static func deadline(at now: UnixTime) -> UnixTime { now.advanced(seconds: -patience) }
}
