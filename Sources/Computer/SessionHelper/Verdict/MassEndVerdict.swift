/// Decides whether ends are acted on, or come from a service that has lost its data.
///
/// Pure: its input is what is known of each session, and the ends of the last minute (``MassEndGuard``). Times are
/// milliseconds after boot.
struct MassEndVerdict {
  /// What the service has said of one session.
  enum Standing: Equatable {
    /// Its end waits for a first verdict.
    case ending
    /// Its end waits for a verdict again. The session was left alone since this time.
    case endingAgain(since: Int64)
    /// It is left alone, and there is nothing new.
    case leftAside
    /// The service's last answer was that it ended, or that it is not known.
    case doubted
    /// The service has just confirmed it.
    case sound
  }

  struct Session {
    let user: UInt32
    /// When the session was approved.
    let created: Int64
    let standing: Standing
  }

  /// Users with sessions whose end waits for its first verdict.
  let ending: Set<UInt32>
  let doubted: Set<UInt32>
  let leftAside: Set<UInt32>
  let sound: Set<UInt32>
  private let soundSessions: [Session]
  private let endingAgain: [Int64]
  private let massEnd: MassEndGuard
  private let now: Int64

  init(_ sessions: [Session], _ massEnd: MassEndGuard, at now: Int64) {
    func users(_ matches: (Standing) -> Bool) -> Set<UInt32> {
      Set(sessions.filter { matches($0.standing) }.map(\.user))
    }
    ending = users { $0 == .ending }
    doubted = users { $0 == .doubted }
    leftAside = users { if case .endingAgain = $0 { true } else { $0 == .leftAside } }
    sound = users { $0 == .sound }
    soundSessions = sessions.filter { $0.standing == .sound }
    endingAgain = sessions.compactMap { session -> Int64? in
      guard case .endingAgain(let since) = session.standing else { return nil }
      return since
    }
    self.massEnd = massEnd
    self.now = now
  }

  /// Users with a session that the service does not confirm.
  var bad: Set<UInt32> { ending.union(doubted).union(leftAside) }

  /// Whether ends that wait for their first verdict are acted on.
  var allowsEnding: Bool { massEnd.allows(ending: ending, doubted: doubted, sound: sound, at: now) }

  /// Whether an end that was left alone since this time is acted on after all. The service must have confirmed other
  /// sessions of that time. Later sessions do not show that it remembers.
  func allowsEnding(leftAsideSince since: Int64) -> Bool {
    MassEndGuard.isRefuted(bad: bad, soundSince: Set(soundSessions.lazy.filter { $0.created <= since }.map(\.user)))
  }

  /// Whether further answers would change nothing.
  var isClear: Bool {
    let isOutweighed =
      ending.isEmpty || massEnd.isOutweighed(ending: ending, doubted: doubted, sound: sound, at: now)
    return isOutweighed && endingAgain.allSatisfy { allowsEnding(leftAsideSince: $0) }
  }
}
