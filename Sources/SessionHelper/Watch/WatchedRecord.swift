import HostState
import IAMPASSClient

/// A record as the helper holds it: where it stands, what was asked, and when the next look is due.
///
/// Times are milliseconds after boot.
final class WatchedRecord {
  var record: SessionRecord
  /// Nil where its addresses are not the configured service's.
  let remote: RemoteSession?
  var watch: SessionWatch? { didSet { agenda.touch(self) } }
  /// The record is over: its end is told to the service.
  var closing: Closing? { didSet { agenda.touch(self) } }
  var lock: ScreenLock? { didSet { agenda.touch(self) } }
  /// An end that waits for the guard against mass ends.
  var pendingEnd: WatchAction?
  /// The question under way.
  var question: SessionService.Ticket? { didSet { agenda.touch(self) } }
  var askedAt: Int64 = 0
  /// When the service is asked next; nil while it is being asked, or need not be.
  var nextAsk: Int64? { didSet { agenda.touch(self) } }
  /// When the machine is looked at again for it.
  var nextLook: Int64? { didSet { agenda.touch(self) } }
  var lastAnswer: Int64 = 0
  var failures = 0
  /// The next answer is the first since a start, a sleep or a failure.
  var isFirstAnswer = true
  var note: WatchNote?
  /// For the administrator, in the note.
  var remark = ""

  /// The record is gone: nothing is due any more.
  var isDropped = false { didSet { agenda.touch(self) } }

  /// What the agenda keeps of this record.
  private let agenda: RecordAgenda
  var isTouched = false
  var queued: Int64?

  init(_ record: SessionRecord, remote: RemoteSession?, agenda: RecordAgenda) {
    self.record = record
    self.remote = remote
    self.agenda = agenda
  }

  /// The end is being told to the service.
  struct Closing {
    var next: Int64
    var attempts = 0
  }

  /// The last exchange went well, so that the service may hold the next.
  var mayHold: Bool { failures == 0 && lastAnswer > 0 && watch?.status != nil && !(watch?.isDoubted ?? true) }

  /// When something is due.
  var due: Int64? {
    if isDropped { return nil }
    if let closing { return question == nil ? closing.next : nil }
    return [watch?.deadline, nextAsk, lock?.due, nextLook].compactMap { $0 }.min()
  }
}

/// When to ask again. Pure but for its dice.
struct AskingPace {
  /// Where the service does not hold its replies, in ms.
  static let polling: Int64 = 5_000
  static let longestPause: Int64 = 60_000
  /// A session that the service does not know, or that was left aside.
  static let doubted: Int64 = 30_000
  static let leftAside: Int64 = 60_000

  /// All that are left aside are asked about together, so that they are judged together.
  static func afterLeavingAside(_ now: Int64) -> Int64 { (now / leftAside + 1) * leftAside }

  /// Questions that are not urgent are asked together, so that many cost one wake-up of the helper, of the worker and
  /// of the service; in ms.
  static let tick: Int64 = 250
  /// A held reply that comes sooner than this was not held.
  static let leastHold: Int64 = 2_000

  /// Spreads by a fifth to both sides, so that many hosts do not ask in step.
  var dice: () -> Int64 = { Int64.random(in: -200...200) }

  func spread(_ time: Int64) -> Int64 { time + time * dice() / 1_000 }

  /// The next time, from this one on, at which questions are asked together.
  static func onTick(_ time: Int64) -> Int64 { (time + tick - 1) / tick * tick }

  func afterFailure(_ failures: Int) -> Int64 {
    spread(min(Self.longestPause, Self.polling << min(failures - 1, 4)))
  }

  /// At least twice this must cover the time over which an unknown session counts.
  func afterUnknown() -> Int64 { Self.doubted + (dice() + 200) * 10 }
}
