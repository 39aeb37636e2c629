import HostState
import HostSystem
import IAMPASSClient

/// A record as the helper holds it: where it stands, what was asked, and when the next look is due.
///
/// Times are milliseconds after boot.
final class WatchedRecord {
  var record: SessionRecord
  /// Nil if its addresses are not the configured service's.
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
  /// The signed list in which its phone was looked for last.
  var comparedWith: UserListVersion?
  /// Its host has closed it or has ended, and it is watched for what runs on.
  var isRunningOn = false
  /// One of the processes that run on.
  var rest: ProcessIdentity?
  /// What its host left has no terminal, and may open one until then; nil if there is nothing of the kind.
  var settles: Int64?
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

  /// Its host has closed it, or its end is being told.
  var isOver: Bool { record.isReleased || closing != nil }

  /// The last exchange went well, so that the service may hold the next.
  var mayHold: Bool { failures == 0 && lastAnswer > 0 && watch?.status != nil && !(watch?.isDoubted ?? true) }

  /// When something is due.
  var due: Int64? {
    if isDropped { return nil }
    if let closing { return question == nil ? closing.next : nil }
    return [watch?.deadline, nextAsk, lock?.due, nextLook].compactMap { $0 }.min()
  }
}
