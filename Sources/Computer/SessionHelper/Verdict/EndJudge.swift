import HostState
import IAMPASSClient

/// Judges ends together, so that a service that has lost its data does not end the sessions of a whole office. It feeds
/// the guard against mass ends, and acts on its verdict.
///
/// Times are milliseconds after boot.
final class EndJudge {
  /// The most sessions that the service is asked about for a comparison.
  private static let mostProbes = 64
  private static let putBackRemark = "the service went back to an earlier state; left alone"

  private let records: WatchedRecords
  private let inquiries: SessionInquiries
  private var massEnd = MassEndGuard()
  /// Ends that wait for each other's verdict; nil while none does.
  private var gathering: VerdictGathering?
  private var alerts: MassEndAlerts

  init(records: WatchedRecords, inquiries: SessionInquiries, log: any HelperLog) {
    self.records = records
    self.inquiries = inquiries
    alerts = MassEndAlerts(log: log)
  }

  /// When a verdict, or the next look at sessions that were left alone, is due; nil if neither is.
  var due: Int64? { [gathering?.due, alerts.due].compactMap { $0 }.min() }

  /// Whether the guard against mass ends must judge this session. It must if enough users are watched or were logged out
  /// in the last minute, if ends are being gathered, or if the session was left alone before.
  func mustJudge(_ watched: WatchedRecord, _ now: Int64) -> Bool {
    if gathering != nil || watched.watch?.isLeftAside == true { return true }
    let users = Set(records.all.lazy.filter { $0.closing == nil && $0.watch != nil }.map(\.record.uid))
    return users.union(massEnd.recent(at: now)).count >= MassEndGuard.leastUsers
  }

  /// Counts an end that is acted on without a verdict: it may be the first of many.
  func count(_ watched: WatchedRecord, _ now: Int64) { massEnd.count([watched.record.uid], at: now) }

  /// Gathers ends for a verdict.
  ///
  /// - Parameter ask: asks the service about another session. Its answers show whether it has lost its data or has
  ///   ended one session.
  func begin(_ now: Int64, _ ask: (WatchedRecord) -> Void) {
    guard gathering == nil else { return }
    gathering = VerdictGathering(at: now)
    // After a start, a sleep or an outage all sessions are asked about already. The service does not hold these first
    // questions, so that their answers come soon.
    for other in records.all where other.isWatchedSoundly && other.isFirstAnswer {
      if let question = other.question { gathering?.probes.insert(question) }
    }
    for other in records.all.filter({ $0.isWatchedSoundly && $0.question == nil }).shuffled().prefix(Self.mostProbes) {
      ask(other)
      if let probe = other.question { gathering?.probes.insert(probe) }
    }
  }

  /// The computer slept, and questions under way are lost. Ends that wait for a verdict wait for answers again.
  func wokeUp(_ now: Int64) {
    if gathering != nil { gathering = VerdictGathering(at: now, awaitsAll: true) }
  }

  /// Takes the steps that are due.
  ///
  /// - Parameter carryOut: does what was decided about a session that may end.
  func turn(_ now: Int64, _ carryOut: (WatchAction, WatchedRecord) -> Void) {
    if let gathering, gathering.due <= now { judge(now, carryOut) }
    if let due = alerts.due, due <= now { alertAgain(now) }
  }

  /// Notes that a session that was left alone is watched again.
  func watchesLeftAside(_ now: Int64) { alerts.checkLater(now) }

  /// Looks for a service that was restored to an earlier state. Its answers end no session, even if there are few. New
  /// sign-ins are watched as usual.
  func checkForPutBack(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.watch?.isPutBack == true else {
      if watched.remark == Self.putBackRemark { watched.remark = "" }
      return
    }
    watched.remark = Self.putBackRemark
    alerts.checkLater(now)
    alerts.putBack(now)
  }

  private func judge(_ now: Int64, _ carryOut: (WatchAction, WatchedRecord) -> Void) {
    let ending = records.all.filter { $0.pendingEnd != nil && $0.closing == nil }
    // These sessions may be over by now, or asked about again.
    guard !ending.isEmpty, let began = gathering?.began, let probes = gathering?.probes else {
      gathering = nil
      return
    }
    let verdict = MassEndVerdict(
      records.all.compactMap { watched in
        watched.standing(since: began, probes).map {
          MassEndVerdict.Session(user: watched.record.uid, created: watched.record.created * 1_000, standing: $0)
        }
      }, massEnd, at: now)
    gathering?.probes = inquiries.underWay(probes)
    let isUnheard =
      gathering?.awaitsAll == true
      && records.all.contains { $0.isWatchedSoundly && $0.isAskedAbout && $0.lastAnswer < began }
    if gathering?.waits(verdict, isUnheard: isUnheard, now) == true {
      gathering?.waitOn(now)
      return
    }
    gathering = nil
    massEnd.count(verdict.ending, at: now)
    if !verdict.allowsEnding {
      alerts.ends(of: verdict.bad.count, amongUsers: verdict.bad.union(verdict.sound).count, now)
    }
    for watched in ending {
      let since = watched.watch?.leftAsideSince
      settle(watched, since.map { verdict.allowsEnding(leftAsideSince: $0) } ?? verdict.allowsEnding, now, carryOut)
    }
  }

  private func settle(
    _ watched: WatchedRecord, _ mayEnd: Bool, _ now: Int64, _ carryOut: (WatchAction, WatchedRecord) -> Void
  ) {
    guard let action = watched.pendingEnd else { return }
    watched.pendingEnd = nil
    if mayEnd {
      watched.watch?.takeUpAgain()
      carryOut(action, watched)
    } else {
      watched.watch?.leaveAside(at: now)
      watched.nextAsk = PollingSchedule.afterLeavingAside(now)
      watched.remark = "the service ended too many users' sessions at once; left alone"
      alerts.checkLater(now)
    }
    records.writeNote(watched)
  }

  private func alertAgain(_ now: Int64) {
    let open = records.all.filter { $0.closing == nil }
    let left = open.filter { $0.watch?.isLeftAside == true }
    alerts.again(
      sessions: left.count, users: Set(left.map(\.record.uid)).count,
      isPutBack: open.contains { $0.watch?.isPutBack == true }, now)
  }
}

extension WatchedRecord {
  /// Whether the session is watched, and neither ended nor left alone.
  fileprivate var isWatchedSoundly: Bool {
    guard let watch else { return false }
    return pendingEnd == nil && closing == nil && !watch.isOver && !watch.isLeftAside
  }

  /// Whether the service can be asked about the session.
  fileprivate var isAskedAbout: Bool { remote != nil && !record.isOffline }

  /// - Parameters:
  ///   - began: answers count from this time on, in ms after boot.
  ///   - probes: the questions that were asked for the verdict.
  /// - Returns: nil if nothing is known about this session that counts.
  fileprivate func standing(since began: Int64, _ probes: Set<SessionService.Ticket>) -> MassEndVerdict.Standing? {
    guard closing == nil else { return nil }
    let since = watch?.leftAsideSince
    if pendingEnd != nil { return since.map { .endingAgain(since: $0) } ?? .ending }
    if since != nil { return .leftAside }
    guard isWatchedSoundly, let watch else { return nil }
    // Answers of a restored service about these sessions are already settled.
    if watch.isDoubted { return watch.isPutBack ? nil : .doubted }
    // The service would have answered a held question if the session had ended.
    let isHeld = watch.isHeld && question.map { !probes.contains($0) } ?? false
    return lastAnswer >= began || isHeld ? .sound : nil
  }
}

extension SessionAnswer {
  /// Reasons for ends that a person wanted. A service that has lost its data does not give them.
  private static let wanted: Set<String> = ["USER_DELETED", "ENDED_ON_PHONE", "LOGGED_OUT"]

  /// Whether the service has signed that a person wanted this end.
  var isVouchedFor: Bool {
    guard case .status(_, _, let reason?) = self else { return false }
    return Self.wanted.contains(reason)
  }
}
