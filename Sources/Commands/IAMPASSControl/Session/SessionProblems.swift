import CommandSupport
import Glibc
import HostState
import IAMPASSProtocol

/// Problems with sessions of this computer.
extension CommandProblem {
  static func records(_ error: LedgerError) -> CommandProblem {
    row(error.explanation, nil, EX_IOERR)
  }

  static func noSession(_ id: String) -> CommandProblem {
    row("no session \(DisplayText.sanitized(id, limit: 64))", "iampassctl session list", EX_DATAERR)
  }

  static func severalSessions(_ id: String) -> CommandProblem {
    row(
      "more than one session begins with \(DisplayText.sanitized(id, limit: 64))", "iampassctl session list",
      EX_DATAERR)
  }

  /// This process does not run in a session that a phone opened.
  static let noOwnSession = row("this is not a session that a phone opened", "iampassctl session list", EX_DATAERR)

  /// The session is over, or is not watched.
  static func notRenewable(_ id: String) -> CommandProblem {
    row("session \(id) is over, or not a login session", "iampassctl session list", EX_DATAERR)
  }

  static let helperNotThere = row("iampass-helper does not run", "systemctl start iampass-helper", EX_TEMPFAIL)

  /// The session is over on this computer, and the helper has not ended it at the service in time.
  static func serviceNotTold(_ id: String) -> CommandProblem {
    row(
      "the service does not know yet that session \(id) has ended",
      "iampass-helper tells it as soon as it can be asked; iampassctl check", EX_TEMPFAIL)
  }

  /// The helper has not ended the session in time.
  static func sessionStays(_ id: String) -> CommandProblem {
    row("session \(id) has not ended yet", "journalctl --unit=iampass-helper", EX_TEMPFAIL)
  }
}
