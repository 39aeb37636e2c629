import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Reads the records as they come and go, and puts each into its stage: waiting, watched or closing.
///
/// Times are milliseconds after boot.
final class RecordKeeper {
  /// The pause until records that could not be listed are listed again, in ms.
  private static let listAgainTime: Int64 = 1_000
  /// The time until an undecided record is read again, in ms.
  private static let checkAgainTime: Int64 = 30_000
  /// The time from the end of a left process to the search for another, in ms. A user may start and end thousands.
  private static let restTime: Int64 = 100

  /// How long a process that was left without a terminal may take to open one, in ms: mosh-server first ends its ssh.
  private static let settleTime: Int64 = 15_000
  /// The time between two looks at such a process, in ms.
  private static let settlePause: Int64 = 1_000

  private var setup: SupervisorSetup
  private let records: WatchedRecords
  private let inquiries: SessionInquiries
  private let judge: EndJudge
  private let acts: SessionActs
  private let earlier: EarlierSessions
  private let withdrawn: WithdrawnPhones
  private let logind: any Logind
  private let seat: any Seat
  private let log: any HelperLog
  /// Whether the records that were left while no helper ran have been read.
  private var hasTakenUp = false
  /// When the records are listed again; nil if they could be listed. After a reload nobody is watched until then.
  private(set) var due: Int64?
  /// Whether all records were read once. What a helper before this one began stays begun.
  private var hasScanned = false

  init(
    setup: SupervisorSetup, records: WatchedRecords, inquiries: SessionInquiries, judge: EndJudge, acts: SessionActs,
    earlier: EarlierSessions, withdrawn: WithdrawnPhones, logind: any Logind, seat: any Seat, log: any HelperLog
  ) {
    self.setup = setup
    self.records = records
    self.inquiries = inquiries
    self.judge = judge
    self.acts = acts
    self.earlier = earlier
    self.withdrawn = withdrawn
    self.logind = logind
    self.seat = seat
    self.log = log
  }

  /// Uses a changed configuration from now on.
  func adopt(_ setup: SupervisorSetup) { self.setup = setup }

  /// Reads a record that was written, changed or removed, or whose next look is due.
  func recordChanged(_ id: String, at now: Int64) {
    let record: SessionRecord
    do { record = try records.ledger.read(id) } catch .file(let error) where error.code == .missing {
      return drop(id, now)
    } catch { return records.leaveOut(id, error) }
    records.isRecordAfterAll(id)
    let isNew = records[id] == nil
    let watched = records[id] ?? pickUp(record, now)
    records.update(watched, record)
    place(watched, now)
    if isNew, hasScanned, let binding = record.binding { acts.callOffRenewed(binding, by: id) }
    // A record whose session runs on is over once a renewal has replaced it.
    if isNew, let binding = record.binding { checkAgain(now) { $0.isRunningOn && $0.record.binding == binding } }
  }

  /// Reads all records: at the start, after lost events, and from time to time.
  func rescan(at now: Int64) {
    let ids: Set<String>
    do { ids = Set(try records.ledger.ids()) } catch {
      if due == nil { log.write(LOG_ERR, "records cannot be listed: \(error.explanation)") }
      due = now + Self.listAgainTime
      return
    }
    due = nil
    takeUp(ids, now)
    withdrawn.compareAgain()
    for id in records.ids where !ids.contains(id) { drop(id, now) }
    for id in ids { recordChanged(id, at: now) }
    hasScanned = true
  }

  /// Reads again the files that could not be read: descriptors or memory may have run out.
  func checkLeftOut(at now: Int64) {
    for id in records.leftOut { recordChanged(id, at: now) }
  }

  /// Continues what the helper before this one has left. It is done once.
  private func takeUp(_ ids: Set<String>, _ now: Int64) {
    guard !hasTakenUp else { return }
    hasTakenUp = true
    records.removeLeftovers(except: ids)
    earlier.takeUp(present: ids, setup.settings, log, now)
    acts.resume(now)
  }

  /// A process that a record names has ended.
  func processEnded(_ process: ProcessIdentity, at now: Int64) {
    for watched in records.all where watched.rest == process {
      watched.nextCheck = min(watched.nextCheck ?? .max, now + Self.restTime)
    }
    checkAgain(now) { [$0.record.process, $0.record.parent, $0.record.binding?.leader].contains(process) }
  }

  /// Asks about every session at once after a sleep.
  func wokeUp(_ now: Int64) {
    for watched in records.all {
      watched.question = nil
      watched.failures = 0
      watched.isFirstAnswer = true
      watched.lastAnswer = 0
      watched.lock?.wokeUp(now)
      callOffUndone(watched)
      _ = watched.watch?.next(.resumed, at: now)
      if watched.closing != nil { watched.closing?.next = now } else if watched.watch != nil { watched.nextAsk = now }
    }
  }

  /// Stops an action that waits for logind, or for a locker, since before a sleep. The phone or the service may be back:
  /// the next answers decide again. A session that is over stays over.
  private func callOffUndone(_ watched: WatchedRecord) {
    guard watched.closing == nil, watched.watch?.isOver != true else { return }
    for cause in acts.callOff(watched, [.walkaway, .unreachable]) { watched.watch?.wasCalledOff(cause) }
  }

  /// Puts these records into their stages again.
  func checkAgain(_ now: Int64, where matches: (WatchedRecord) -> Bool) {
    for watched in records.all.filter(matches) { place(watched, now) }
  }

  private func pickUp(_ record: SessionRecord, _ now: Int64) -> WatchedRecord {
    var remote: RemoteSession?
    do { if !record.isOffline { remote = try record.remoteSession(setup.settings) } } catch {
      log.write(LOG_ERR, "cannot be asked for: \(record.logName): \(error.explanation)")
    }
    let watched = records.add(record, remote: remote)
    if remote != nil { earlier.keep(record, log, now) }
    return watched
  }

  /// Puts a record into its stage.
  func place(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.closing == nil else { return }
    let record = watched.record
    let sight = record.binding.map { logind.session($0.logindSession) } ?? .gone
    var facts = RecordStage.Facts(
      isProcessAlive: record.process.presence != .gone, isParentAlive: record.parent.presence != .gone,
      isLeaderAlive: record.binding.map { $0.leader.presence != .gone } ?? false, sight: sight, runsOn: false)
    let rest = rest(of: record, facts)
    facts.runsOn = rest.keepsWatch(setup.onLinger)
    guard !isSettling(watched, rest, now) else { return holdBack(watched, now) }
    switch RecordStage.of(record, facts, now: now / 1_000) {
    case .waiting: checkLater(watched, now)
    case .watched:
      if facts.runsOn { runOn(watched, rest, now) }
      startWatch(watched, sight, now)
      if record.isLogoutRequested { acts.signOut(watched, .administrator, now) }
      if watched.watch == nil || record.isLogoutRequested { checkLater(watched, now) }
    case .closing(let reason): close(watched, reason, now)
    }
  }

  /// The processes that the session's host has left; none while the host runs and has not closed the session.
  private func rest(of record: SessionRecord, _ facts: RecordStage.Facts) -> SessionRest {
    guard let binding = record.binding, record.isReleased || !facts.isLeaderAlive else { return .nothing }
    // A renewal has closed this record, and its own record watches the same session.
    let isRenewed = records.all.contains { $0.record.id != record.id && $0.record.binding == binding && !$0.isOver }
    guard !isRenewed else { return .nothing }
    return seat.rest(ofSession: binding.logindSession, of: record.uid, leader: binding.leader)
  }

  /// Whether what looks like a job without a terminal still has time to open one. A job would go unwatched.
  private func isSettling(_ watched: WatchedRecord, _ rest: SessionRest, _ now: Int64) -> Bool {
    guard case .withoutTerminal = rest, !rest.keepsWatch(setup.onLinger) else {
      watched.settles = nil
      return false
    }
    let settles = watched.settles ?? now + Self.settleTime
    watched.settles = settles
    return now < settles
  }

  /// Asks and decides nothing meanwhile: a job must not end because its phone leaves in these seconds.
  private func holdBack(_ watched: WatchedRecord, _ now: Int64) {
    watched.watch = nil
    watched.lock = nil
    watched.pendingEnd = nil
    watched.nextAsk = nil
    inquiries.forgetQuestion(of: watched)
    watched.nextCheck = min(watched.nextCheck ?? .max, now + Self.settlePause)
  }

  /// Goes on watching a session whose host has closed it or has ended. It has no screen any more, and is watched like
  /// other sessions without one.
  private func runOn(_ watched: WatchedRecord, _ rest: SessionRest, _ now: Int64) {
    if watched.rest != rest.process {
      watched.rest = rest.process
      records.processesChanged = true
    }
    checkLater(watched, now)
    guard !watched.isRunningOn else { return }
    watched.isRunningOn = true
    log.write(LOG_DEBUG, "watched for what runs on \(watched.record.logName)")
    records.writeNote(watched)
    guard watched.watch?.canLock == true else { return }
    // The watch begins again from its note, as after a restart of the helper. A decision to lock is made again.
    watched.watch = nil
    watched.lock = nil
    watched.pendingEnd = nil
  }

  /// Reads an undecided record later: what it lacks may come without an event.
  private func checkLater(_ watched: WatchedRecord, _ now: Int64) {
    watched.nextCheck = min(watched.nextCheck ?? .max, now + Self.checkAgainTime)
  }

  /// Reads again whether the session has a screen. A desktop that is begun from a console gives it one by logind's
  /// `SetType`, long after the sign-in. If the session cannot be read, what was known before counts.
  func readScreen(of watched: WatchedRecord) {
    guard let binding = watched.record.binding else { return }
    takeScreen(logind.session(binding.logindSession), watched)
  }

  private func takeScreen(_ sight: SessionSight, _ watched: WatchedRecord) {
    guard case .there(let session) = sight, var watch = watched.watch, let binding = watched.record.binding,
      binding.matches(session, of: watched.record.uid, leader: .mayHaveEnded)
    else { return }
    let before = watch
    watch.takeScreen(
      canLock: session.canLock && !watched.isRunningOn,
      isGraphicalAtSeat: session.isGraphicalAtSeat && !watched.isRunningOn)
    if watch != before { watched.watch = watch }
  }

  private func startWatch(_ watched: WatchedRecord, _ sight: SessionSight, _ now: Int64) {
    takeScreen(sight, watched)
    // Nothing is decided before it is known whether the session can lock. It is read again soon.
    guard watched.watch == nil, case .there(let session) = sight else { return }
    let record = watched.record
    let note = records.note(of: record)
    watched.watch = SessionWatch(
      policy: record.isOffline ? setup.policy.withEnds : setup.policy, canLock: session.canLock && !watched.isRunningOn,
      isGraphicalAtSeat: session.isGraphicalAtSeat && !watched.isRunningOn,
      span: record.created * 1_000..<(record.created + record.duration) * 1_000, endsAtExpiry: record.endsAtExpiry,
      mark: record.mark, note: note, now: now)
    watched.note = note
    withdrawn.compareAgain()
    watched.remark = note?.remark ?? (record.isOffline ? "opened without the service" : "")
    watched.nextAsk = record.isOffline ? nil : now
    if watched.watch?.isLeftAside == true { judge.watchesLeftAside(now) }
    // This is logged once for each sign-in. If there is a note, it was logged before a restart or a reload.
    if note == nil { log.write(LOG_DEBUG, "watching \(record.logName) logind_session=\(session.id)") }
    records.writeNote(watched)
  }

  // MARK: The end of a record

  private func close(_ watched: WatchedRecord, _ reason: RecordStage.Reason, _ now: Int64) {
    // A record whose end is being told must not be claimed. A record that was claimed or bound meanwhile is read again.
    if !watched.record.isReleased {
      do {
        if let changed = try records.ledger.retire(watched.record) {
          watched.record = changed
          records.processesChanged = true
          watched.nextCheck = now
          return
        }
      } catch { log.write(LOG_WARNING, "record \(watched.record.id) not marked as over: \(error.explanation)") }
    }
    log.write(LOG_DEBUG, "over \(watched.record.logName): \(reason.rawValue)")
    watched.closing = WatchedRecord.Closing(next: now)
    records.processesChanged = true
    watched.nextAsk = nil
    watched.lock = nil
    watched.pendingEnd = nil
    watched.isRunningOn = false
    watched.rest = nil
    records.writeNote(watched)
    // The answer to a held question does not count any more, and the question would use a place for nothing.
    inquiries.forgetQuestion(of: watched)
  }

  /// Tells the service the end of a session, if that is due.
  func tellEnd(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.question == nil, let closing = watched.closing, closing.next <= now else { return }
    guard let remote = watched.remote, now / 1_000 < watched.record.created + watched.record.duration else {
      // The session has ended at the service by itself, or belongs to another service.
      if watched.remote == nil, !watched.record.isOffline {
        log.write(LOG_WARNING, "end not told of \(watched.record.logName): its service is not the configured one")
      }
      return forget(watched.record.id, now)
    }
    inquiries.tellEnd(of: watched, at: remote, now)
  }

  /// Removes a record after the service was told of its end.
  func forget(_ id: String, _ now: Int64) {
    do { try records.ledger.remove(id) } catch { log.write(LOG_ERR, "record \(id) not removed: \(error.explanation)") }
    drop(id, now)
  }

  private func drop(_ id: String, _ now: Int64) {
    earlier.forget(id, log, now)
    if let watched = records.drop(id) { inquiries.forgetQuestion(of: watched) }
  }
}
