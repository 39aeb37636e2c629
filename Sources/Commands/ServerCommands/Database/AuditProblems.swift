import CommandSupport
import Glibc
import IAMPASSServer

/// Problems of `audit`.
extension CommandProblem {
  static func noAnswer(toAuditEntry id: Int64) -> CommandProblem {
    CommandProblem(
      message: "no phone's answer is kept that entry \(id) goes back to",
      hint: "answers are kept for 400 days, or as serve's --keep-answers says; a one-time link and a command have none",
      exitCode: EX_DATAERR)
  }

  static func answerProvesNothing(_ flaw: AnswerProof.Flaw) -> CommandProblem {
    CommandProblem(
      message: flaw.rawValue, hint: "somebody changed the database: iampass-security(7)", exitCode: EX_DATAERR)
  }

  /// Entries come elsewhere, and none here.
  static let otherAuditHistory = CommandProblem(
    message: "the database was moved, or another one was put in its place: entries may have been missed",
    hint: "go on by time, and where everything is now: --since", exitCode: EX_DATAERR)

  /// The entry to continue after does not exist: in a restored copy of the database, entries would be missed.
  static func noAuditEntry(_ id: Int64) -> CommandProblem {
    CommandProblem(
      message: "the audit has no entry \(id) yet: its ids are smaller",
      hint: "if an older copy of the database was put back, go on by time: --since", exitCode: EX_DATAERR)
  }
}
