import IAMPASSClient

/// The service, as the helper asks it: many questions under way, answers later.
public protocol SessionService: AnyObject {
  /// A question's number, by which its outcome comes.
  typealias Ticket = UInt32

  /// - Parameter mayHold: the service may wait with its reply for a change, where it can.
  func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket
  func tellEnd(of session: RemoteSession) -> Ticket
  /// What has come since the last call. Never waits.
  func outcomes() -> [(ticket: Ticket, outcome: ServiceOutcome)]
  /// Forgets what is under way: after a sleep its connections are dead.
  func startOver()
}

public enum ServiceOutcome: Sendable, Equatable {
  case answer(SessionAnswer)
  case endTold
  case failed(ServiceError)
}

/// The service over one worker that lives as long as the helper.
public final class PipelinedService: SessionService {
  /// How long the service may hold a reply, in seconds: shorter than what middle boxes let a silent connection live.
  private static let hold: Int64 = 55
  /// For a reply that is not held, and on top of one that is; in milliseconds.
  private static let patience: Int64 = 15_000
  /// Held at the same time, over eight connections of a hundred each, the usual bound, with room for other questions:
  /// whoever is above asks now and then.
  private static let mostHeld = 700

  private enum Question {
    case status(SealedRequest, isHeld: Bool)
    case end(SealedRequest)

    var sealed: SealedRequest {
      switch self {
      case .status(let sealed, _), .end(let sealed): sealed
      }
    }
  }

  private let pipeline: WorkerPipeline
  private let inquiry: SessionInquiry
  private var questions: [UInt32: Question] = [:]
  private var heldCount = 0
  private var refusals: [(ticket: Ticket, outcome: ServiceOutcome)] = []
  private var lastRefusal: UInt32 = .max
  /// Over HTTP/1.1 each held request would keep a connection to itself.
  private var isMultiplexed = false

  public init(pipeline: WorkerPipeline, inquiry: SessionInquiry) {
    self.pipeline = pipeline
    self.inquiry = inquiry
  }

  public func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket {
    let holds = mayHold && isMultiplexed && heldCount < Self.mostHeld
    return send(extra: holds ? Self.hold * 1_000 : 0) { () throws(ServiceError) in
      .status(try inquiry.status(of: session, waitSeconds: holds ? Self.hold : nil), isHeld: holds)
    }
  }

  public func tellEnd(of session: RemoteSession) -> Ticket {
    send(extra: 0) { () throws(ServiceError) in .end(try inquiry.end(session)) }
  }

  public func outcomes() -> [(ticket: Ticket, outcome: ServiceOutcome)] {
    var outcomes = refusals
    refusals = []
    for (ticket, outcome) in pipeline.take(now: .now()) {
      guard let question = questions.removeValue(forKey: ticket) else { continue }
      outcomes.append((ticket, judge(outcome, question)))
    }
    return outcomes
  }

  public func startOver() {
    pipeline.stop()
    questions = [:]
    refusals = []
    heldCount = 0
  }

  private func send(extra: Int64, _ make: () throws(ServiceError) -> Question) -> Ticket {
    let question: Question
    do { question = try make() } catch {
      // Numbers from the other end: the pipeline counts from 1.
      defer { lastRefusal -= 1 }
      refusals.append((lastRefusal, .failed(error)))
      return lastRefusal
    }
    let now = MonotonicInstant.now()
    let ticket = pipeline.send(
      question.sealed.request, deadline: now.advanced(milliseconds: Self.patience + extra), now: now)
    questions[ticket] = question
    if case .status(_, isHeld: true) = question { heldCount += 1 }
    return ticket
  }

  private func judge(_ outcome: WorkerPipeline.Outcome, _ question: Question) -> ServiceOutcome {
    if case .status(_, isHeld: true) = question { heldCount -= 1 }
    do throws(ServiceError) {
      let reply: HTTPReply
      do { reply = try outcome.get() } catch { throw .transport(error) }
      isMultiplexed = reply.isMultiplexed
      switch question {
      case .status(let sealed, _): return .answer(try inquiry.answer(reply, to: sealed))
      case .end(let sealed):
        try inquiry.confirmEnd(reply, to: sealed)
        return .endTold
      }
    } catch { return .failed(error) }
  }
}
