import IAMPASSProtocol
import Logging

/// One line for each thing that an administrator may be asked about later. No secret, token, user id or link.
struct Audit: Sendable {
  let logger: Logger
  let metrics: Metrics

  func started(_ session: Session) {
    metrics.count(.started)
    record("session started", session)
  }

  func answered(_ session: Session, by phone: Phone) {
    metrics.count(session.lifecycle.ending.map { .ended($0) } ?? .approved)
    record("session answered", session, ["phone": "\(phone.id)", "method": "\(session.method.rawValue)"])
  }

  /// The phone left, or came back.
  func moved(_ session: Session) {
    metrics.count(session.lifecycle.status == .walkaway ? .walkedAway : .back)
    record(session.lifecycle.status == .walkaway ? "session walked away" : "session back", session)
  }

  /// `session` has just ended, by time or by someone.
  func closed(_ session: Session) {
    if let ending = session.lifecycle.ending { metrics.count(.ended(ending)) }
    record("session closed", session, ["reason": "\(session.lifecycle.ending?.rawValue ?? "")"])
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

  private func record(_ event: Logger.Message, _ session: Session, _ more: Logger.Metadata = [:]) {
    var metadata = more
    metadata["session"] = "\(session.id)"
    metadata["status"] = "\(session.lifecycle.status.word)"
    metadata["user"] = session.user.map { "\($0)" }
    metadata["host"] = session.context.host.map { "\(DisplayText.sanitized($0))" }
    metadata["service"] = session.context.service.map { "\(DisplayText.sanitized($0))" }
    logger.info(event, metadata: metadata)
  }
}
