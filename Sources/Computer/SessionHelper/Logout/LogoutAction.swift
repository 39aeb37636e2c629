/// What is done next to log a session out (``SessionLogout``).
enum LogoutAction: Equatable {
  /// Looks at the logind session and its leader.
  case look
  /// Writes the line to the session's terminals, and removes the user's sudo tickets.
  case tellUser
  /// Asks what runs in the session's scope to leave, before logind does.
  case askToLeave
  case terminate
  /// Kills the session's scope if the session's leader still runs in it, or the process that its host has left.
  case killIfLed
  case lookForProcesses
  /// Kills what still runs in the session's scope.
  case killRest
  /// Stops the user's service manager if this was the user's last session.
  case stopManager
  /// Removes the note of this logout.
  case forget
}

/// How a ``LogoutAction`` went.
enum LogoutOutcome {
  case looked(LogoutLook)
  case done
  case processes(areThere: Bool)
  /// Whether the user's service manager was told to stop.
  case stopped(Bool)
  case notLed
  case failed(LogindError)
}

/// What ``LogoutAction/look`` finds.
struct LogoutLook {
  let sight: SessionSight
  /// The logind session is the record's, and its leader runs. Another session may have been given the same id.
  let isOurs: Bool
  /// The logind session is the record's, whether its leader still runs or not.
  let isOursOrLeft: Bool
  /// The logind session is what the record's host has left, and logind closes it.
  let isRest: Bool
  /// logind does not show the session to be ours, but the scope of that id is ours by the leader in it, or by the
  /// process that its host has left there.
  let isLed: Bool
  /// The leader cannot be looked at.
  let isLeaderUnclear: Bool
}

/// A line for the log.
struct LogoutRemark: Equatable {
  /// A level of syslog(3).
  let priority: Int32
  let text: String

  init(_ priority: Int32, _ text: String) {
    self.priority = priority
    self.text = text
  }
}
