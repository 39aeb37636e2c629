import HostState
import HostSystem
import IAMPASSClient

/// A record in the helper's memory: its stage, its question and when it is due.
///
/// Times are milliseconds after boot.
final class WatchedRecord {
  var record: SessionRecord
  /// The service session; nil if the record's addresses are not the configured service's.
  let remote: RemoteSession?
  var watch: SessionWatch? { didSet { agenda.touch(self) } }
  /// Set once the record is over and its end is told to the service.
  var closing: Closing? { didSet { agenda.touch(self) } }
  var lock: ScreenLock? { didSet { agenda.touch(self) } }
  /// The action of an end that waits for the guard against mass ends.
  var pendingEnd: WatchAction?
  /// The question under way.
  var question: SessionService.Ticket? { didSet { agenda.touch(self) } }
  var askedAt: Int64 = 0
  /// When the service is asked next; nil while it is being asked or need not be asked.
  var nextAsk: Int64? { didSet { agenda.touch(self) } }
  /// When the computer's state is read again for this record.
  var nextCheck: Int64? { didSet { agenda.touch(self) } }
  var lastAnswer: Int64 = 0
  var failures = 0
  /// Whether the next answer is the first since a start, a sleep or a failure.
  var isFirstAnswer = true
  var note: WatchNote?
  /// The version of the signed list that its phone was last looked up in.
  var comparedWith: UserListVersion?
  /// The session's host has closed it or has ended, and it is watched for the processes that run on.
  var isRunningOn = false
  /// One of the processes that run on.
  var rest: ProcessIdentity?
  /// Until when a left process without a terminal may open one; nil if there is no such process.
  var settles: Int64?
  /// A remark for the administrator, which the note has too.
  var remark = ""

  /// The record is gone, and nothing is due any more.
  var isDropped = false { didSet { agenda.touch(self) } }

  /// The agenda that queues this record.
  private let agenda: RecordAgenda
  var isTouched = false
  var queued: Int64?

  init(_ record: SessionRecord, remote: RemoteSession?, agenda: RecordAgenda) {
    self.record = record
    self.remote = remote
    self.agenda = agenda
  }

  /// A record whose end is being told to the service.
  struct Closing {
    var next: Int64
    var attempts = 0
  }

  /// Whether the host has closed the session, or its end is being told.
  var isOver: Bool { record.isReleased || closing != nil }

  /// Whether the service may hold the next question: the last exchange succeeded.
  var mayHold: Bool { failures == 0 && lastAnswer > 0 && watch?.status != nil && !(watch?.isDoubted ?? true) }

  /// When this record is due.
  var due: Int64? {
    if isDropped { return nil }
    if let closing { return question == nil ? closing.next : nil }
    return [watch?.deadline, nextAsk, lock?.due, nextCheck].compactMap { $0 }.min()
  }
}
