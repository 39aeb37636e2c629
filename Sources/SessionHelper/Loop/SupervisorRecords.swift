import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

// Records as they come and go.

extension Supervisor {
  /// A record was written, changed or removed; or is looked at again.
  public func recordChanged(_ id: String, at now: Int64) {
    let record: SessionRecord
    do { record = try ledger.read(id) } catch .file(let error) where error.code == .missing {
      return drop(id, now)
    } catch { return leaveOut(id, error) }
    leftOut.remove(id)
    let watched = records[id] ?? pickUp(record, now)
    if watched.record.binding != record.binding { processesChanged = true }
    watched.record = record
    place(watched, now)
  }

  /// Looks at all records: at the start, after lost news, and now and then.
  public func rescan(at now: Int64) {
    let ids: Set<String>
    do { ids = Set(try ledger.ids()) } catch {
      return log.write(LOG_ERR, "records cannot be listed: \(error.explanation)")
    }
    takeUp(ids, now)
    for id in records.keys where !ids.contains(id) { drop(id, now) }
    for id in ids { recordChanged(id, at: now) }
  }

  /// What was left aside may have been for want of descriptors or memory.
  public func lookAtLeftOut(at now: Int64) {
    for id in leftOut { recordChanged(id, at: now) }
  }

  /// Once: what the helper before this one has left.
  private func takeUp(_ ids: Set<String>, _ now: Int64) {
    guard !hasTakenUp else { return }
    hasTakenUp = true
    for id in (try? notes.ids()) ?? [] where !ids.contains(id) { try? notes.remove(id) }
    ledger.removeUnfinished()
    earlier.takeUp(present: ids, setup.settings, log, now)
    do throws(LedgerError) {
      for id in try leaving.ids() { resumeLogout(id, now) }
    } catch { log.write(LOG_ERR, "logouts that were begun cannot be listed: \(error.explanation)") }
  }

  private func resumeLogout(_ id: String, _ now: Int64) {
    do throws(LedgerError) {
      let session = try leaving.read(id)
      logouts.append(SessionLogout(resuming: session, onLinger: setup.onLinger, kept: leaving, now: now))
    } catch { log.write(LOG_WARNING, "logout \(id), begun before, is left as it is: \(error.explanation)") }
  }

  /// Goes on with a changed configuration: every session is asked anew, and decided about by the new rules. Logouts that
  /// were begun go on.
  public func adopt(_ setup: SupervisorSetup, _ service: any SessionService, at now: Int64) {
    self.setup = setup
    self.service = service
    questions = [:]
    earlier.startOver(now)
    for watched in records.values { watched.isDropped = true }
    records = [:]
    processesChanged = true
    rescan(at: now)
  }

  /// News of logind.
  public func logindTold(_ events: [LogindEvent], at now: Int64) {
    for event in events {
      switch event {
      case .sessionRemoved(let session):
        for logout in logouts where logout.isOf(session) { logout.sessionRemoved(now) }
        lookAgain(now) { $0.record.binding?.logindSession == session }
      case .preparesForSleep(true): break
      case .preparesForSleep(false): wokeUp(now)
      case .reconnected: lookAgain(now) { _ in true }
      }
    }
  }

  /// A process that a record names has ended.
  public func processEnded(_ process: ProcessIdentity, at now: Int64) {
    lookAgain(now) { [$0.record.process, $0.record.parent, $0.record.binding?.leader].contains(process) }
  }

  /// Processes whose end matters; nil where they are the same as before.
  public func changedProcesses() -> Set<ProcessIdentity>? {
    guard processesChanged else { return nil }
    processesChanged = false
    var all: Set<ProcessIdentity> = []
    for watched in records.values where watched.closing == nil {
      if let binding = watched.record.binding {
        all.insert(binding.leader)
      } else {
        all.insert(watched.record.process)
        if !UnwatchedServices.contains(watched.record.service) { all.insert(watched.record.parent) }
      }
    }
    return all
  }

  /// After a sleep every session is asked at once, over new connections.
  public func wokeUp(_ now: Int64) {
    service.startOver()
    questions = [:]
    earlier.startOver(now)
    for watched in records.values {
      watched.question = nil
      watched.failures = 0
      watched.isFirstAnswer = true
      watched.lastAnswer = 0
      _ = watched.watch?.next(.resumed, at: now)
      if watched.closing != nil { watched.closing?.next = now } else if watched.watch != nil { watched.nextAsk = now }
    }
  }

  private func lookAgain(_ now: Int64, where matches: (WatchedRecord) -> Bool) {
    for watched in records.values.filter(matches) { place(watched, now) }
  }

  private func pickUp(_ record: SessionRecord, _ now: Int64) -> WatchedRecord {
    let remote: RemoteSession?
    do { remote = try record.remoteSession(setup.settings) } catch {
      log.write(LOG_ERR, "cannot be asked for: \(record.logName): \(error.explanation)")
      remote = nil
    }
    let watched = WatchedRecord(record, remote: remote, agenda: agenda)
    records[record.id] = watched
    if remote != nil { earlier.keep(record, log, now) }
    processesChanged = true
    return watched
  }

  /// Puts a record where it belongs.
  func place(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.closing == nil else { return }
    let record = watched.record
    let sight = record.binding.map { logind.session($0.logindSession) } ?? .gone
    let facts = RecordStage.Facts(
      isProcessAlive: record.process.presence != .gone, isParentAlive: record.parent.presence != .gone,
      isLeaderAlive: record.binding.map { $0.leader.presence != .gone } ?? false, sight: sight)
    switch RecordStage.of(record, facts, now: now / 1_000) {
    case .waiting: lookLater(watched, now)
    case .watched:
      startWatch(watched, sight, now)
      if record.isLogoutRequested { logOut(watched, .administrator, now) }
      if watched.watch == nil || record.isLogoutRequested { lookLater(watched, now) }
    case .closing(let reason): close(watched, reason, now)
    }
  }

  /// Nothing has been decided yet, and no news may come of what is missing.
  private func lookLater(_ watched: WatchedRecord, _ now: Int64) {
    watched.nextLook = min(watched.nextLook ?? .max, now + Self.lookAgainTime)
  }

  private func startWatch(_ watched: WatchedRecord, _ sight: SessionSight, _ now: Int64) {
    // Without knowing what the session can, nothing may be decided for it: it is looked at again before long.
    guard watched.watch == nil, case .there(let session) = sight else { return }
    let record = watched.record
    // A note that cannot be read is made anew.
    let note = try? notes.read(record.id)
    watched.watch = SessionWatch(
      policy: setup.policy, canLock: session.canLock, isGraphicalAtSeat: session.isGraphicalAtSeat,
      span: record.created * 1_000..<(record.created + record.duration) * 1_000, endsAtExpiry: record.endsAtExpiry,
      mark: record.mark, note: note, now: now)
    watched.note = note
    watched.remark = note?.remark ?? ""
    watched.nextAsk = now
    if watched.watch?.isLeftAside == true { shoutLater(now) }
    log.write(LOG_INFO, "watching \(record.logName) logind_session=\(session.id)")
    writeNote(watched)
  }

  // MARK: The end of a record

  private func close(_ watched: WatchedRecord, _ reason: RecordStage.Reason, _ now: Int64) {
    // Nobody may claim a record whose end is being told. One that was claimed or bound meanwhile is looked at again.
    if !watched.record.isReleased {
      do {
        if let changed = try ledger.retire(watched.record) {
          watched.record = changed
          processesChanged = true
          watched.nextLook = now
          return
        }
      } catch { log.write(LOG_WARNING, "record \(watched.record.id) not marked as over: \(error.explanation)") }
    }
    log.write(LOG_INFO, "over \(watched.record.logName): \(reason.rawValue)")
    watched.closing = WatchedRecord.Closing(next: now)
    processesChanged = true
    watched.nextAsk = nil
    watched.lock = nil
    watched.pendingEnd = nil
    // A held question would keep the number of questions up for nothing; its answer counts no more.
    if let question = watched.question { questions[question] = nil }
    watched.question = nil
  }

  func tellEnd(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.question == nil, let closing = watched.closing, closing.next <= now else { return }
    guard let remote = watched.remote, now / 1_000 < watched.record.created + watched.record.duration else {
      // By now it has ended there by itself; or it is not the configured service's.
      if watched.remote == nil {
        log.write(LOG_WARNING, "end not told of \(watched.record.logName): its service is not the configured one")
      }
      return forget(watched.record.id, now)
    }
    let ticket = service.tellEnd(of: remote)
    watched.question = ticket
    questions[ticket] = watched.record.id
  }

  func endNotTold(_ watched: WatchedRecord, _ error: ServiceError, _ now: Int64) {
    guard var closing = watched.closing else { return }
    closing.attempts += 1
    closing.next = now + pace.afterFailure(closing.attempts)
    watched.closing = closing
    if closing.attempts == 1 {
      log.write(LOG_WARNING, "end not told of \(watched.record.logName): \(error.explanation); tried again")
    }
  }

  /// Removes a record whose end the service knows.
  func forget(_ id: String, _ now: Int64) {
    do { try ledger.remove(id) } catch { log.write(LOG_ERR, "record \(id) not removed: \(error.explanation)") }
    drop(id, now)
  }

  private func drop(_ id: String, _ now: Int64) {
    leftOut.remove(id)
    earlier.forget(id, log, now)
    guard let watched = records.removeValue(forKey: id) else { return }
    watched.isDropped = true
    processesChanged = true
    if let question = watched.question { questions[question] = nil }
    do { try notes.remove(id) } catch { log.write(LOG_ERR, "note of \(id) not removed: \(error.explanation)") }
  }

  /// A damaged or foreign file is left where it is: nobody is logged out for it, and nobody is watched by it.
  private func leaveOut(_ id: String, _ error: LedgerError) {
    guard leftOut.insert(id).inserted else { return }
    log.write(LOG_ERR, "record \(id) is left aside: \(error.explanation)")
  }
}
