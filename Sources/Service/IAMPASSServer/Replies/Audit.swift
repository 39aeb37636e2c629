import IAMPASSProtocol
import Logging

/// Writes events for administrators to the log. It never has a secret, token, user id or link.
///
/// At the usual level a sign-in has one line, at the end of its request. The audit in the database has every step.
struct Audit: Sendable {
  let logger: Logger
  let metrics: Metrics

  func started(_ session: Session) {
    metrics.count(.started)
    record(.debug, "session started", session)
  }

  func answered(_ session: Session, by phone: Phone) {
    metrics.count(session.lifecycle.ending.map { .ended($0) } ?? .approved)
    var metadata: Logger.Metadata = ["phone": "\(phone.id)", "method": "\(session.method.rawValue)"]
    if session.method == .facial { metadata["word"] = "app" }
    requestEnded(session, metadata)
  }

  /// Logs that the phone left or came back.
  func moved(_ session: Session) {
    metrics.count(session.lifecycle.status == .walkaway ? .walkedAway : .back)
    record(.debug, session.lifecycle.status == .walkaway ? "session walked away" : "session back", session)
  }

  /// Logs that `session` has ended.
  func closed(_ session: Session) {
    if let ending = session.lifecycle.ending { metrics.count(.ended(ending)) }
    guard session.lifecycle.approvedAt != nil else { return requestEnded(session) }
    record(.debug, "session closed", session, ["reason": "\(session.lifecycle.ending?.rawValue ?? "")"])
  }

  func registered(phone: String, user: Int64) {
    logger.info("phone registered", metadata: ["phone": "\(phone)", "user": "\(user)"])
  }

  func credentialAdded(phone: String, user: Int64) {
    logger.info("phone credential added", metadata: ["phone": "\(phone)", "user": "\(user)"])
  }

  func cutOff(phone: String, user: Int64) {
    logger.info("phone cut off", metadata: ["phone": "\(phone)", "user": "\(user)"])
  }

  func codeUsed(_ use: CodeUse, user: Int64) {
    var metadata: Logger.Metadata = ["user": "\(user)", "way": "\(use.report.way.rawValue)"]
    metadata["left"] = use.report.left.map { "\($0)" }
    metadata["host"] = use.report.context.host.map { "\(DisplayText.sanitized($0))" }
    metadata["service"] = use.report.context.service.map { "\(DisplayText.sanitized($0))" }
    logger.notice("code used without asking the phone", metadata: metadata)
  }

  /// The one line of a sign-in at the usual level: an answer, or an end without one.
  private func requestEnded(_ session: Session, _ more: Logger.Metadata = [:]) {
    let lifecycle = session.lifecycle
    var metadata = more
    metadata["application"] = "\(session.application)"
    metadata["answer"] = "\(lifecycle.approvedAt == nil ? lifecycle.ending?.rawValue ?? "" : "APPROVED")"
    metadata["seconds"] = (lifecycle.approvedAt ?? lifecycle.endedAt).map {
      "\($0.milliseconds(since: lifecycle.startedAt) / 1_000)"
    }
    record(.info, "request ended", session, metadata)
  }

  private func record(
    _ level: Logger.Level, _ event: Logger.Message, _ session: Session, _ more: Logger.Metadata = [:]
  ) {
    var metadata = more
    metadata["session"] = "\(session.id)"
    metadata["status"] = "\(session.lifecycle.status.word)"
    metadata["user"] = session.user.map { "\($0)" }
    metadata["host"] = session.context.host.map { "\(DisplayText.sanitized($0))" }
    metadata["service"] = session.context.service.map { "\(DisplayText.sanitized($0))" }
    logger.log(level: level, event, metadata: metadata)
  }
}
