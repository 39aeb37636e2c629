/// The next step of a logout (``SessionLogout``).
enum LogoutAction: Equatable {
  /// Reads the logind session and its leader.
  case look
  /// Writes the line to the session's terminals and removes the user's sudo tickets.
  case tellUser
  /// Sends SIGTERM to the processes in the session's scope, before logind ends the session.
  case askToLeave
  case terminate
  /// Kills the session's scope if the leader still runs in it, or the process that the session's host has left.
  case killIfLed
  case findProcesses
  /// Kills the processes that are left in the session's scope.
  case killRest
  /// Stops the user's service manager if this was the user's last session.
  case stopManager
  /// Removes the note of this logout.
  case forget
}

/// The result of a ``LogoutAction``.
enum LogoutOutcome {
  case facts(LogoutFacts)
  case done
  case processes(areThere: Bool)
  /// Whether the user's service manager was told to stop.
  case stopped(Bool)
  case notLed
  case failed(LogindError)
}

/// What ``LogoutAction/look`` finds.
struct LogoutFacts {
  let sight: SessionSight
  /// The logind session is the record's, and its leader runs. False for another session with the same id.
  let isOurs: Bool
  /// The logind session is the record's, whether its leader still runs or not.
  let isOursOrLeft: Bool
  /// The logind session is closing, and is what the record's host has left.
  let isRest: Bool
  /// ``isOurs`` is false, but the scope of that id is ours: the leader runs in it, or the process that the session's host
  /// has left. logind does not need to know the session.
  let isLed: Bool
  /// The leader cannot be read.
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
