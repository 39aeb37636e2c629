import HostState
import HostSystem

/// One user's sessions at this computer's own seats, whichever program opened them. Remote sessions are left out: their
/// user is somewhere else.
struct SeatSessions {
  private(set) var there: [LogindSession] = []
  /// Ids of sessions that logind lists at a seat, but that cannot be read.
  private(set) var unclear: [String] = []

  /// The sessions of these users; users without any are left out.
  static func of(_ users: Set<UnixUsername>, _ logind: any Logind) throws(LogindError) -> [UnixUsername: SeatSessions] {
    var found: [UnixUsername: SeatSessions] = [:]
    for listed in try logind.listed() where !listed.seat.isEmpty {
      guard let user = UnixUsername(validating: listed.user), users.contains(user) else { continue }
      switch logind.session(listed.id) {
      case .there(let session) where session.uid != listed.uid: break
      case .there(let session):
        if session.isAtSeat { found[user, default: SeatSessions()].there.append(session) }
      case .unclear: found[user, default: SeatSessions()].unclear.append(listed.id)
      case .gone: break
      }
    }
    return found
  }
}
