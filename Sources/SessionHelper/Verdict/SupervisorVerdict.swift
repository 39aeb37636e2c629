import Glibc
import HostState
import IAMPASSClient

// Whether ends are acted on, or are those of a service that has lost its memory.

extension Supervisor {
  /// How long ends wait for each other, in ms: long enough for the others' answers, too short to be noticed.
  private static let gathering: Int64 = 100
  /// Sessions that are looked at for a comparison at most.
  private static let mostProbes = 64
  /// How long the answers about others are waited for at most, in ms.
  private static let longestVerdict: Int64 = 15_000
  /// Between two shouts about what is left alone, in ms.
  private static let shoutPause: Int64 = 600_000

  /// Whether the guard against mass ends has something to guard, or has guarded this session before.
  func mustBeJudged(_ watched: WatchedRecord) -> Bool {
    if verdictDue != nil || watched.watch?.isLeftAside == true { return true }
    let users = users(records.values.filter { $0.closing == nil && $0.watch != nil })
    return users.count >= MassEndGuard.leastUsers
  }

  /// Asks some others too: what the service says of them tells one that has lost its memory from one that ended a
  /// session.
  func beginVerdict(_ now: Int64) {
    guard verdictDue == nil else { return }
    verdictBegan = now
    verdictDue = now + Self.gathering
    for other in others.filter({ $0.question == nil }).shuffled().prefix(Self.mostProbes) {
      ask(other, now)
      if let probe = other.question { probes.insert(probe) }
    }
  }

  /// Watched, and not ended or left aside by now.
  private var others: [WatchedRecord] {
    records.values.filter { other in
      guard let watch = other.watch else { return false }
      return other.pendingEnd == nil && other.closing == nil && !watch.isOver && !watch.isLeftAside
    }
  }

  private func users(_ records: [WatchedRecord]) -> Set<UInt32> { Set(records.map(\.record.uid)) }

  /// What is known for a verdict.
  private struct Evidence {
    /// Ends that no verdict was given of yet, and those that were left alone before.
    var new: [WatchedRecord]
    var old: [WatchedRecord]
    var doubted: Set<UInt32>
    var leftAside: Set<UInt32>
    var sound: [WatchedRecord]
  }

  private func evidence(_ ending: [WatchedRecord]) -> Evidence {
    let leftAside = records.values.filter { $0.closing == nil && $0.watch?.isLeftAside == true }
    // A held question would have been answered, had the service anything bad to say.
    let sound = others.filter { other in
      guard other.watch?.isDoubted == false else { return false }
      let isHeld = other.watch?.isHeld == true && other.question.map { !probes.contains($0) } ?? false
      return other.lastAnswer >= verdictBegan || isHeld
    }
    return Evidence(
      new: ending.filter { $0.watch?.isLeftAside != true }, old: ending.filter { $0.watch?.isLeftAside == true },
      // What a service that was put back says of those is settled already.
      doubted: users(others.filter { $0.watch?.isDoubted == true && $0.watch?.isPutBack == false }),
      leftAside: users(leftAside), sound: sound)
  }

  func judgeEnds(_ now: Int64) {
    let ending = records.values.filter { $0.pendingEnd != nil && $0.closing == nil }
    // They may be over, or asked anew, by now.
    guard !ending.isEmpty else {
      verdictDue = nil
      probes = []
      return
    }
    let evidence = evidence(ending)
    // Over a slow network the answers take longer than the ends are gathered.
    probes.formIntersection(questions.keys)
    if !probes.isEmpty, !isClear(evidence, now), now - verdictBegan < Self.longestVerdict {
      verdictDue = now + Self.gathering / 2
      return
    }
    verdictDue = nil
    probes = []
    let mayEnd = massEnd.allows(
      ending: users(evidence.new), doubted: evidence.doubted, sound: users(evidence.sound), at: now)
    massEnd.count(users(evidence.new), at: now)
    if !mayEnd { shout(evidence, now) }
    for watched in evidence.new { settle(watched, mayEnd, now) }
    for watched in evidence.old { settle(watched, isRefuted(watched, evidence), now) }
  }

  /// Whether further answers would change nothing.
  private func isClear(_ evidence: Evidence, _ now: Int64) -> Bool {
    let isOutweighed =
      evidence.new.isEmpty
      || massEnd.isOutweighed(
        ending: users(evidence.new), doubted: evidence.doubted, sound: users(evidence.sound), at: now)
    return isOutweighed && evidence.old.allSatisfy { isRefuted($0, evidence) }
  }

  /// Whether the service has shown that it remembers others of that time. Those who signed in later say nothing of that.
  private func isRefuted(_ watched: WatchedRecord, _ evidence: Evidence) -> Bool {
    guard let since = watched.watch?.leftAsideSince else { return false }
    let sound = evidence.sound.filter { $0.record.created * 1_000 <= since }
    return MassEndGuard.isRefuted(
      bad: evidence.leftAside.union(evidence.doubted).union(users(evidence.new)), soundSince: users(sound))
  }

  private func settle(_ watched: WatchedRecord, _ mayEnd: Bool, _ now: Int64) {
    guard let action = watched.pendingEnd else { return }
    watched.pendingEnd = nil
    if mayEnd {
      watched.watch?.takeUpAgain()
      carryOut(action, watched, now)
    } else {
      watched.watch?.leaveAside(at: now)
      watched.nextAsk = AskingPace.afterLeavingAside(now)
      watched.remark = "the service ended too many users' sessions at once; left alone"
      shoutLater(now)
    }
    writeNote(watched)
  }

  // MARK: Shouting

  private func shout(_ evidence: Evidence, _ now: Int64) {
    if let lastShout, now - lastShout < MassEndGuard.window { return }
    lastShout = now
    let bad = users(evidence.new).union(evidence.doubted).union(evidence.leftAside)
    let all = bad.union(users(evidence.sound))
    log.write(
      LOG_CRIT,
      "the service says that the sessions of \(bad.count) of \(all.count) users are over: nobody is logged out (was its database restored?); end sessions by `iampassctl session end`"
    )
  }

  /// Looks every minute, until nothing is left alone any more.
  func shoutLater(_ now: Int64) { shoutDue = shoutDue ?? now + AskingPace.leftAside }

  private func isTimeToShout(_ last: Int64?, _ now: Int64) -> Bool { last.map { now - $0 >= Self.shoutPause } ?? true }

  func shoutAgain(_ now: Int64) {
    let left = records.values.filter { $0.closing == nil && $0.watch?.isLeftAside == true }
    let putBack = records.values.filter { $0.closing == nil && $0.watch?.isPutBack == true }
    guard !left.isEmpty || !putBack.isEmpty else {
      shoutDue = nil
      return
    }
    shoutDue = now + AskingPace.leftAside
    if !putBack.isEmpty, isTimeToShout(lastPutBackShout, now) { shoutOfPutBack(now) }
    guard !left.isEmpty, isTimeToShout(lastShout, now) else { return }
    lastShout = now
    log.write(
      LOG_CRIT,
      "\(left.count) sessions of \(users(left).count) users are left alone, though the service says that they are over; see `iampassctl session list`, and end them by `iampassctl session end`"
    )
  }
}

// A service that was put back to an earlier state.

extension Supervisor {
  /// What such a service says ends nobody's session, however few there are; new sign-ins are watched as ever.
  func lookForPutBack(_ watched: WatchedRecord, _ now: Int64) {
    guard watched.watch?.isPutBack == true else {
      if watched.remark == Self.putBackRemark { watched.remark = "" }
      return
    }
    watched.remark = Self.putBackRemark
    shoutLater(now)
    if isTimeToShout(lastPutBackShout, now) { shoutOfPutBack(now) }
  }

  private static let putBackRemark = "the service went back to an earlier state; left alone"

  private func shoutOfPutBack(_ now: Int64) {
    lastPutBackShout = now
    log.write(
      LOG_CRIT,
      "the service went back to an earlier state (was its database restored?): what it says ends none of the sessions from before; end them by `iampassctl session end`"
    )
  }
}

extension SessionAnswer {
  /// Ends that somebody wanted, and that a service which has lost its memory would not name.
  private static let wanted: Set<String> = ["USER_DELETED", "ENDED_ON_PHONE", "LOGGED_OUT"]

  /// Whether the service's signed word says that somebody wanted this end.
  var isVouchedFor: Bool {
    guard case .status(_, _, let reason?) = self else { return false }
    return Self.wanted.contains(reason)
  }
}
