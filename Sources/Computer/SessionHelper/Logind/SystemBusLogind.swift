import CHost
import HostState
import HostSystem
import IAMPASSClient

/// logind and the service manager over the system bus. Use it from one thread.
///
/// An event loop waits for ``interest`` on ``descriptor``, level-triggered, or until ``deadline``; then it calls
/// ``events()``. It reads all three again before each wait: the connection may have been replaced, and a call may have
/// kept signals that the descriptor does not show.
public final class SystemBusLogind: Logind {
  /// The longest time that a function here takes, in milliseconds.
  public static let bound: Int64 = 2_000

  private let sessions: String
  private let hierarchy: String?
  private let bound: Int64
  private let link: BusLink

  /// Connects at the first use.
  ///
  /// - Parameters:
  ///   - address: the bus's address; nil is the system bus.
  ///   - sessions: the folder of logind's session files.
  ///   - hierarchy: the folder of the service manager's control groups.
  ///   - bound: the longest time that a function takes, in milliseconds.
  ///   - firstPause: the time from the loss of the bus to the first new try, in milliseconds.
  public init(
    address: String? = nil, sessions: String = "/run/systemd/sessions",
    hierarchy: String? = SessionScope.hierarchy(), bound: Int64 = SystemBusLogind.bound, firstPause: Int64 = 250
  ) {
    self.sessions = sessions
    self.hierarchy = hierarchy
    self.bound = bound
    link = BusLink(address: address, bound: bound, firstPause: firstPause)
  }

  /// Why there is no bus; nil if there is one. For the log.
  public var failure: LogindError? { link.failure }

  /// -1 while there is no connection.
  public var descriptor: Int32 { link.descriptor }

  /// poll(2)'s bits, which epoll(7) has too.
  public var interest: UInt32 { link.interest }

  /// When ``events()`` is to be called although the descriptor is silent; nil: never.
  public var deadline: MonotonicInstant? { link.deadline }

  /// The first connection also gives `.reconnected`.
  public func events() -> [LogindEvent] {
    link.takeEvents(at: .now()).compactMap { event in
      switch event {
      case .ready: .reconnected
      case .message(let message): LogindEvent(message)
      }
    }
  }

  /// Reads logind's file of the session, then asks logind, then reads the control groups.
  ///
  /// The file stays while logind is restarted. It may be absent although the session is there, because logind could not
  /// write it (a full /run). A restarted logind knows only the sessions of its files. It forgets a session whose file
  /// was lost, while the session's processes go on. So a session counts as gone only if logind answers that it does not
  /// know it, and none of its processes runs.
  public func session(_ id: String) -> SessionSight { session(id, until: end()) }

  public func sessions(of uid: UInt32) throws(LogindError) -> [String] {
    let end = end()
    return try listed(until: end).filter { $0.uid == uid && isSignedIn($0.id, until: end) }.map(\.id)
  }

  public func listed() throws(LogindError) -> [ListedSession] { try listed(until: end()) }

  public func terminateSession(_ id: String) throws(LogindError) { try manage("TerminateSession", id) }

  public func lockSession(_ id: String) throws(LogindError) { try manage("LockSession", id) }

  public func lockedHint(_ id: String) throws(LogindError) -> Bool {
    guard LogindSession.isID(id) else { throw .refused("not a session's id") }
    let end = end()
    let arguments: [BusArgument] = [.string(LogindSession.interface), .string("LockedHint")]
    let reply = try link.call("Get", on: try object(of: id, until: end), arguments, until: end)
    guard let isLocked = reply.inside("v", "b", { reply.bool() }) else { throw .refused("not a hint") }
    return isLocked
  }

  public func endUnit(_ name: String) throws(LogindError) { try signal(SIGTERM, name) }

  public func killUnit(_ name: String) throws(LogindError) { try signal(SIGKILL, name) }

  private func signal(_ number: Int32, _ name: String) throws(LogindError) {
    guard SessionScope.isUnit(name) else { throw .refused("\(name) is not a session's scope") }
    try change("KillUnit", [.string(name), .string("all"), .int32(number)])
  }

  /// Mode `fail`: if another job for the manager is queued, its user is just signing in, and the manager must stay.
  public func stopUnit(_ name: String) throws(LogindError) {
    guard UserManager.isUnit(name) else { throw .refused("\(name) is not a user's manager") }
    try change("StopUnit", [.string(name), .string("fail")])
  }

  private func end() -> MonotonicInstant { .now().advanced(milliseconds: bound) }

  private func session(_ id: String, until end: MonotonicInstant) -> SessionSight {
    guard LogindSession.isID(id) else { return .unclear(.refused("not a session's id")) }
    if let written = LogindSession(id: id, folder: sessions) { return .there(written) }
    let object: BusObject
    do { object = try self.object(of: id, until: end) } catch {
      return error == .noSuchObject ? unknown(id) : .unclear(error)
    }
    // The session was there a moment ago. If an error comes now, the next look decides.
    do {
      let reply = try link.call("GetAll", on: object, [.string(LogindSession.interface)], until: end)
      guard let session = LogindSession(properties: reply), session.id == id else {
        return .unclear(.refused("not a session's properties"))
      }
      return .there(session)
    } catch { return .unclear(error) }
  }

  private func listed(until end: MonotonicInstant) throws(LogindError) -> [ListedSession] {
    let reply = try link.call("ListSessions", on: .logind, [], until: end)
    let all = reply.array(of: "(susso)") {
      reply.inside("r", "susso") { () -> ListedSession? in
        guard let id = reply.string(), let uid = reply.unsigned(), let user = reply.string(),
          let seat = reply.string(), reply.skip("o")
        else { return nil }
        return ListedSession(id: id, uid: uid, user: user, seat: seat)
      }
    }
    guard let all else { throw .refused("not a list of sessions") }
    return all
  }

  private func unknown(_ id: String) -> SessionSight {
    guard let hierarchy, let isRunning = try? SessionScope.isRunning(id, hierarchy: hierarchy) else {
      return .unclear(.refused("logind knows no session \(id), and what runs of it cannot be seen"))
    }
    return isRunning ? .unclear(.forgotten(id)) : .gone
  }

  private func object(of id: String, until end: MonotonicInstant) throws(LogindError) -> BusObject {
    let reply = try link.call("GetSession", on: .logind, [.string(id)], until: end)
    guard let path = reply.string("o") else { throw .refused("not a session's path") }
    return .session(path)
  }

  /// A session that cannot be read counts: its user's manager must stay.
  private func isSignedIn(_ id: String, until end: MonotonicInstant) -> Bool {
    switch session(id, until: end) {
    case .there(let session): session.isSignIn && !session.isClosing
    case .gone: false
    case .unclear: true
    }
  }

  private func manage(_ member: String, _ id: String) throws(LogindError) {
    guard LogindSession.isID(id) else { throw .refused("not a session's id") }
    _ = try link.call(member, on: .logind, [.string(id)], until: end())
  }

  private func change(_ member: String, _ arguments: [BusArgument]) throws(LogindError) {
    do { _ = try link.call(member, on: .serviceManager, arguments, until: end()) } catch {
      guard error == .noSuchObject else { throw error }
    }
  }
}
