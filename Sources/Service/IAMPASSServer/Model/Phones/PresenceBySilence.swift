import Synchronization

/// If the application wants it, a phone that is silent for a while counts as one that has left.
///
/// This is only for `iampass-phone`, which always asks for requests. Browsers freeze pages that are not visible.
///
/// Silence counts only while this service ran, the setting was on, and the clock was not set.
enum PresenceBySilence {
  /// The silence in seconds after which a phone has left. A question is held for a minute at most, and is tried again
  /// for some time.
  static let patience: Int64 = 150
  /// The longest time between two looks that counts, in seconds. A longer time means that housekeeping was delayed, the
  /// computer slept, or its clock was set. The service then does not know which phones would have asked, and counts
  /// only the usual pause between two looks.
  static let longestGap: Int64 = 60
  /// The most phones that leave in one transaction. Sign-ins wait meanwhile.
  static let portion = 100
  /// How many more phones a transaction may credit than may leave in it: only a time is stored of each.
  static let creditedPerLeaving = 10

  /// One look for silent phones: its time, and the applications whose phones it looked at.
  struct Check: Sendable {
    let time: UnixTime
    let applications: Set<String>
    /// What the look has not credited yet, in this order. No phone leaves before this is empty.
    var uncredited: [Credit] = []

    /// How far to move forward the times of the last requests of an application's phones.
    struct Credit: Sendable {
      let application: String
      let milliseconds: Int64
      /// Phones up to this id were credited already.
      var lastPhone = ""
    }

    /// All that this look has to credit.
    func credits(since last: Check?) -> [Credit] {
      applications.sorted().compactMap { application in
        credit(to: application, since: last).map { Credit(application: application, milliseconds: $0) }
      }
    }

    /// The applications whose silence begins to count now, because they were not in the last look.
    private func newcomers(since last: Check?) -> Set<String> {
      guard let last, time >= last.time else { return applications }
      return applications.subtracting(last.applications)
    }

    /// How far to move forward the times of the last requests of an application's phones, in milliseconds, at most to
    /// this look. Nil: they stay.
    func credit(to application: String, since last: Check?) -> Int64? {
      if newcomers(since: last).contains(application) { return time.milliseconds }
      let unseen = unseen(since: last)
      return unseen > 0 ? unseen : nil
    }

    /// Milliseconds since the last look in which silence of the other applications does not count.
    private func unseen(since last: Check?) -> Int64 {
      guard let last else { return 0 }
      let gap = time.milliseconds(since: last.time)
      return gap > longestGap * 1_000 ? gap - HousekeepingPace.interval * 1_000 : 0
    }
  }

  /// The last look of this process.
  final class LastCheck: Sendable {
    private let check = Mutex<Check?>(nil)
    var value: Check? { check.withLock { $0 } }
    func remember(_ new: Check) { check.withLock { $0 = new } }
  }

  /// Phones of applications that count silence have left if they were last heard before.
  static func deadline(at now: UnixTime) -> UnixTime { now.advanced(seconds: -patience) }
}
