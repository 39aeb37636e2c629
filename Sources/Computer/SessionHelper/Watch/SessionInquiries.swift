import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol

/// The questions to the service that are under way, and when each record's next question is due.
///
/// Times are milliseconds after boot.
final class SessionInquiries {
  private static let complaintTime: Int64 = 60_000

  private(set) var service: any SessionService
  private let log: any HelperLog
  let pace: PollingSchedule
  /// The record that each question is about, by its id.
  private var questions: [SessionService.Ticket: String] = [:]
  /// When the service last gave an answer that counts, in ms after boot; nil before the first.
  private(set) var lastAnswer: Int64?
  private var lastComplaint: Int64?

  init(_ service: any SessionService, pace: PollingSchedule, log: any HelperLog) {
    self.service = service
    self.pace = pace
    self.log = log
  }

  // MARK: Questions

  /// - Parameter mayHold: false: the service answers at once.
  func askStatus(of watched: WatchedRecord, at remote: RemoteSession, mayHold: Bool = true, _ now: Int64) {
    keep(service.askStatus(of: remote, mayHold: mayHold && watched.mayHold), watched, now)
  }

  /// Asks for the service's position in its history. The session is asked about again after the answer.
  func askMark(for watched: WatchedRecord, _ now: Int64) {
    guard watched.question == nil, watched.closing == nil else { return }
    watched.nextAsk = nil
    keep(service.askMark(), watched, now)
  }

  func tellEnd(of watched: WatchedRecord, at remote: RemoteSession, _ now: Int64) {
    keep(service.tellEnd(of: remote), watched, now)
  }

  private func keep(_ ticket: SessionService.Ticket, _ watched: WatchedRecord, _ now: Int64) {
    watched.question = ticket
    watched.askedAt = now
    questions[ticket] = watched.record.id
  }

  /// Removes a question that was answered. Returns its record; nil if the answer does not count any more.
  func record(askedBy ticket: SessionService.Ticket) -> String? { questions.removeValue(forKey: ticket) }

  /// Ignores the answer to this record's question.
  func forgetQuestion(of watched: WatchedRecord) {
    if let question = watched.question { questions[question] = nil }
    watched.question = nil
  }

  /// The questions among these that are under way.
  func underWay(_ tickets: Set<SessionService.Ticket>) -> Set<SessionService.Ticket> {
    tickets.intersection(questions.keys)
  }

  /// Begins again after a sleep: questions under way are lost with their connections.
  func startOver() {
    service.startOver()
    questions = [:]
  }

  /// Asks another service from now on.
  func adopt(_ service: any SessionService) {
    self.service = service
    questions = [:]
  }

  // MARK: The next question

  func tookAnswer(_ watched: WatchedRecord, _ now: Int64) {
    watched.failures = 0
    watched.lastAnswer = now
    lastAnswer = now
  }

  /// - Parameter hasChanged: whether the status differs from the last answer's.
  func schedule(after answer: SessionAnswer, _ watched: WatchedRecord, hasChanged: Bool, asked: Int64, _ now: Int64) {
    if watched.watch?.isLeftAside == true || watched.watch?.isPutBack == true {
      watched.nextAsk = PollingSchedule.afterLeavingAside(now)
      return
    }
    switch answer {
    case .status(_, held: true, _):
      // This does not wait for a tick: a walkaway is noticed only while a question waits at the service.
      let isProperlyHeld = hasChanged || now - asked >= PollingSchedule.leastHold
      watched.nextAsk = isProperlyHeld ? now : whenAskedTogether(now + PollingSchedule.afterNoHold)
    case .status(_, held: false, _):
      // A connection for many requests may hold the next question. Only its reply shows whether the service holds.
      watched.nextAsk = watched.isFirstAnswer ? now : whenAskedTogether(now + pace.spread(PollingSchedule.polling))
    case .contradiction: watched.nextAsk = whenAskedTogether(now + pace.spread(PollingSchedule.polling))
    case .unknownSession: watched.nextAsk = now + pace.afterUnknown()
    }
    watched.isFirstAnswer = false
  }

  private func whenAskedTogether(_ time: Int64) -> Int64 {
    service.takesManyAtOnce ? PollingSchedule.onTick(time) : time
  }

  /// Asks again after a growing pause, because the service gave no answer that counts.
  func couldNotAsk(_ watched: WatchedRecord, _ why: String, _ now: Int64) {
    watched.failures += 1
    watched.isFirstAnswer = true
    watched.remark = why
    watched.nextAsk = now + pace.afterFailure(watched.failures)
    guard watched.failures == 1, lastComplaint.map({ now - $0 >= Self.complaintTime }) ?? true else { return }
    lastComplaint = now
    log.write(LOG_WARNING, "cannot ask about \(watched.record.logName): \(why); others are not named for a minute")
  }

  /// Asks again after the number of seconds that the service gave, because it wants fewer requests.
  func delay(_ watched: WatchedRecord, seconds: Int64, _ now: Int64) {
    watched.nextAsk = now + pace.spread(min(max(seconds, 5), 300) * 1_000)
  }

  /// Tells the service the end of a session again after a growing pause, because it was not accepted.
  func couldNotTellEnd(_ watched: WatchedRecord, _ error: ServiceError, _ now: Int64) {
    guard var closing = watched.closing else { return }
    closing.attempts += 1
    closing.next = now + pace.afterFailure(closing.attempts)
    watched.closing = closing
    guard closing.attempts == 1 else { return }
    log.write(LOG_WARNING, "end not told of \(watched.record.logName): \(error.explanation); tried again")
  }
}
