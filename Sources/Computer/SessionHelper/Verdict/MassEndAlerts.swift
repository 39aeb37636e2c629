import Glibc

/// The log lines at level critical while sessions are left alone, and when they are repeated.
///
/// Times are milliseconds after boot.
struct MassEndAlerts {
  /// The time between two lines about the same cause, in ms.
  private static let pause: Int64 = 600_000

  private let log: any HelperLog
  private var last: Int64?
  private var lastOfPutBack: Int64?
  /// When to look again whether sessions are left alone; nil while there are none.
  private(set) var due: Int64?

  init(log: any HelperLog) { self.log = log }

  /// Too many end at once: logs it, at most once a minute.
  mutating func ends(of bad: Int, amongUsers all: Int, _ now: Int64) {
    if let last, now - last < MassEndGuard.window { return }
    last = now
    log.write(
      LOG_CRIT,
      "the service says that the sessions of \(bad) of \(all) users are over: nobody is logged out (was its database restored?); end sessions by `iampassctl session end`"
    )
  }

  /// A session is left alone: looks every minute, until none is.
  mutating func checkLater(_ now: Int64) { due = due ?? now + PollingSchedule.leftAside }

  /// - Parameters:
  ///   - sessions: the number of sessions that are left alone.
  ///   - users: the number of their users.
  ///   - isPutBack: an answer about a session shows that the service was restored to an earlier state.
  mutating func again(sessions: Int, users: Int, isPutBack: Bool, _ now: Int64) {
    guard sessions > 0 || isPutBack else {
      due = nil
      return
    }
    due = now + PollingSchedule.leftAside
    if isPutBack { putBack(now) }
    guard sessions > 0, isTime(last, now) else { return }
    last = now
    log.write(
      LOG_CRIT,
      "\(sessions) sessions of \(users) users are left alone, though the service says that they are over; see `iampassctl session list`, and end them by `iampassctl session end`"
    )
  }

  /// The service was restored to an earlier state: logs it, at most every ten minutes.
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
