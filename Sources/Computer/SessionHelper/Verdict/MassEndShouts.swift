import Glibc

/// What the log says at level critical while sessions are left alone, and when it says so again.
///
/// Times are milliseconds after boot.
struct MassEndShouts {
  /// Between two shouts about the same, in ms.
  private static let pause: Int64 = 600_000

  private let log: any HelperLog
  private var last: Int64?
  private var lastOfPutBack: Int64?
  /// When it is to be looked again whether anything is left alone; nil while nothing is.
  private(set) var due: Int64?

  init(log: any HelperLog) { self.log = log }

  /// Too many end at once: says so, at most once a minute.
  mutating func ends(of bad: Int, amongUsers all: Int, _ now: Int64) {
    if let last, now - last < MassEndGuard.window { return }
    last = now
    log.write(
      LOG_CRIT,
      "the service says that the sessions of \(bad) of \(all) users are over: nobody is logged out (was its database restored?); end sessions by `iampassctl session end`"
    )
  }

  /// Something is left alone: it is looked at every minute, until nothing is.
  mutating func lookLater(_ now: Int64) { due = due ?? now + AskingPace.leftAside }

  /// - Parameters:
  ///   - sessions: left alone.
  ///   - users: whose sessions these are.
  ///   - isPutBack: the service went back to an earlier state, in its words about some session.
  mutating func again(sessions: Int, users: Int, isPutBack: Bool, _ now: Int64) {
    guard sessions > 0 || isPutBack else {
      due = nil
      return
    }
    due = now + AskingPace.leftAside
    if isPutBack { putBack(now) }
    guard sessions > 0, isTime(last, now) else { return }
    last = now
    log.write(
      LOG_CRIT,
      "\(sessions) sessions of \(users) users are left alone, though the service says that they are over; see `iampassctl session list`, and end them by `iampassctl session end`"
    )
  }

  /// The service went back to an earlier state: says so, at most every ten minutes.
  mutating func putBack(_ now: Int64) {
    guard isTime(lastOfPutBack, now) else { return }
    lastOfPutBack = now
    log.write(
      LOG_CRIT,
      "the service went back to an earlier state (was its database restored?): what it says ends none of the sessions from before; end them by `iampassctl session end`"
    )
  }

  private func isTime(_ last: Int64?, _ now: Int64) -> Bool { last.map { now - $0 >= Self.pause } ?? true }
}
