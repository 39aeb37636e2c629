import Glibc
import HostState
import HostSystem
import IAMPASSClient

/// All records in the helper's memory, read from the folders of records and notes.
final class WatchedRecords {
  let ledger: SessionLedger
  private let notes: WatchNotes
  private let log: any HelperLog
  private var byID: [String: WatchedRecord] = [:]
  private let agenda = RecordAgenda()
  /// Whether the set of processes whose end matters may have changed.
  var processesChanged = true
  /// Files that are not valid records. Each is logged once.
  private(set) var leftOut: Set<String> = []

  init(ledger: SessionLedger, notes: WatchNotes, log: any HelperLog) {
    self.ledger = ledger
    self.notes = notes
    self.log = log
  }

  var all: [WatchedRecord] { Array(byID.values) }
  var ids: [String] { Array(byID.keys) }
  var count: Int { byID.count }

  subscript(id: String) -> WatchedRecord? { byID[id] }

  /// Open sessions that were opened without the service, by the ids of their uses.
  var openUses: [String: WatchedRecord] {
    let open = all.filter { $0.record.isOffline && $0.record.binding != nil && $0.closing == nil }
    return Dictionary(open.compactMap { one in one.record.offlineUse.map { ($0.id, one) } }, uniquingKeysWith: { $1 })
  }

  /// When the first record is due, in ms after boot.
  var due: Int64? { agenda.next }

  /// The records that are due.
  func takeDue(at now: Int64) -> [WatchedRecord] { agenda.take(at: now) }

  func add(_ record: SessionRecord, remote: RemoteSession?) -> WatchedRecord {
    let watched = WatchedRecord(record, remote: remote, agenda: agenda)
    byID[record.id] = watched
    processesChanged = true
    return watched
  }

  /// Takes the new contents of the record's file.
  func update(_ watched: WatchedRecord, _ record: SessionRecord) {
    if watched.record.binding != record.binding { processesChanged = true }
    watched.record = record
  }

  /// Forgets a record whose file is gone, and removes its note.
  ///
  /// - Returns: the record; nil if it was not known.
  func drop(_ id: String) -> WatchedRecord? {
    leftOut.remove(id)
    guard let watched = byID.removeValue(forKey: id) else { return nil }
    watched.isDropped = true
    processesChanged = true
    removeNote(id)
    return watched
  }

  /// Forgets all records in memory. The files stay.
  func startOver() {
    for watched in byID.values { watched.isDropped = true }
    byID = [:]
    processesChanged = true
  }

  /// Leaves a damaged or foreign file in place. It neither ends nor watches a session.
  func leaveOut(_ id: String, _ error: LedgerError) {
    guard leftOut.insert(id).inserted else { return }
    log.write(LOG_ERR, "record \(id) is left aside: \(error.explanation)")
  }

  func isRecordAfterAll(_ id: String) { leftOut.remove(id) }

  /// Processes whose end matters; nil if they are the same as at the last call.
  func changedProcesses() -> Set<ProcessIdentity>? {
    guard processesChanged else { return nil }
    processesChanged = false
    var all: Set<ProcessIdentity> = []
    for watched in byID.values where watched.closing == nil {
      if let binding = watched.record.binding {
        all.insert(binding.leader)
        if let rest = watched.rest { all.insert(rest) }
      } else {
        all.insert(watched.record.process)
        if watched.record.opensSession { all.insert(watched.record.parent) }
      }
    }
    return all
  }

  // MARK: Notes

  /// The note of an earlier helper; nil if there is none. An unreadable note is replaced by an empty one.
  func note(of record: SessionRecord) -> WatchNote? {
    do { return try notes.read(record.id) } catch {
      log.write(LOG_WARNING, "note of \(record.logName) not read: \(error.explanation); what it said is forgotten")
      return nil
    }
  }

  /// Writes a changed note. If it cannot be written (a full /run), only a restart forgets what it says.
  func writeNote(_ watched: WatchedRecord) {
    guard let watch = watched.watch else { return }
    let note = watch.note(remark: watched.remark, isRunningOn: watched.isRunningOn)
    guard note != watched.note else { return }
    do {
      try notes.write(note, for: watched.record.id)
      watched.note = note
    } catch { log.write(LOG_WARNING, "note of \(watched.record.id) not written: \(error.explanation)") }
  }

  private func removeNote(_ id: String) {
    do { try notes.remove(id) } catch { log.write(LOG_ERR, "note of \(id) not removed: \(error.explanation)") }
  }

  /// Removes leftover files of helpers and modules that were ended.
  func removeLeftovers(except ids: Set<String>) {
    do throws(LedgerError) {
      for id in try notes.ids() where !ids.contains(id) { removeNote(id) }
    } catch { log.write(LOG_WARNING, "notes cannot be listed: \(error.explanation)") }
    ledger.removeUnfinished()
  }
}
