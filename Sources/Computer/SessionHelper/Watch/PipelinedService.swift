import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// The service over one worker that lives as long as the helper.
public final class PipelinedService: SessionService {
  /// How long the service may hold a reply, in seconds: shorter than the time after which middleboxes drop a silent
  /// connection.
  private static let hold: Int64 = 55
  /// The longest wait for a reply, in milliseconds. For a held question it comes on top of the hold.
  private static let patience: Int64 = 15_000
  /// Concurrent requests of a connection, until a smaller bound was seen. This is the usual bound.
  private static let usualStreams = 100
  /// The worker makes eight connections. The room of one of them is left for other questions.
  private static let holdingConnections = 7

  private enum Question {
    case status(SealedRequest, isHeld: Bool)
    case end(SealedRequest)
    case mark(SealedRequest)
    case codeUse(SealedRequest)
    case users(SealedRequest, UserListQuestion, isHeld: Bool)

    var isHeld: Bool {
      switch self {
      case .status(_, let isHeld), .users(_, _, let isHeld): isHeld
      case .end, .mark, .codeUse: false
      }
    }

    var sealed: SealedRequest {
      switch self {
      case .status(let sealed, _), .end(let sealed), .mark(let sealed), .codeUse(let sealed),
        .users(let sealed, _, _):
        sealed
      }
    }
  }

  private let pipeline: WorkerPipeline
  private let inquiry: SessionInquiry
  private var questions: [UInt32: Question] = [:]
  private var heldCount = 0
  private var refusals: [(ticket: Ticket, outcome: ServiceOutcome)] = []
  private var lastRefusal: UInt32 = .max
  /// Concurrent requests that each connection carries. It is 0 over HTTP/1.1, because each held request would use a
  /// whole connection.
  private var streams = 0
  public var takesManyAtOnce: Bool { streams > 0 }
  /// Questions that the service may hold at once.
  private var mostHeld: Int { streams * Self.holdingConnections }

  public init(pipeline: WorkerPipeline, inquiry: SessionInquiry) {
    self.pipeline = pipeline
    self.inquiry = inquiry
  }

  public func askStatus(of session: RemoteSession, mayHold: Bool) -> Ticket {
    let holds = mayHold && heldCount < mostHeld
    return send(extra: holds ? Self.hold * 1_000 : 0) { () throws(ServiceError) in
      .status(try inquiry.status(of: session, waitSeconds: holds ? Self.hold : nil), isHeld: holds)
    }
  }

  public func tellEnd(of session: RemoteSession) -> Ticket {
    send(extra: 0) { () throws(ServiceError) in .end(try inquiry.end(session)) }
  }

  public func askMark() -> Ticket {
    send(extra: 0) { () throws(ServiceError) in .mark(try inquiry.mark()) }
  }

  public func askUsers(_ asked: UserListQuestion, mayHold: Bool) -> Ticket {
    let holds = mayHold && heldCount < mostHeld
    return send(extra: holds ? Self.hold * 1_000 : 0) { () throws(ServiceError) in
      .users(try inquiry.users(asked, waitSeconds: holds ? Self.hold : nil), asked, isHeld: holds)
    }
  }

  public func tellCodeUse(_ report: CodeUseReport, of token: Secret) -> Ticket {
    send(extra: 0) { () throws(ServiceError) in .codeUse(try inquiry.codeUse(report, of: token)) }
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
      // These numbers count down from the highest, because the pipeline counts up from 1.
      defer { lastRefusal -= 1 }
      refusals.append((lastRefusal, .failed(error)))
      return lastRefusal
    }
    let now = MonotonicInstant.now()
    let ticket = pipeline.send(
      question.sealed.request, deadline: now.advanced(milliseconds: Self.patience + extra), now: now)
    questions[ticket] = question
    if question.isHeld { heldCount += 1 }
    return ticket
  }

  private func judge(_ outcome: WorkerPipeline.Outcome, _ question: Question) -> ServiceOutcome {
    if question.isHeld { heldCount -= 1 }
    do throws(ServiceError) {
      let reply: HTTPReply
      do { reply = try outcome.get() } catch {
        // The next connection may allow fewer.
        streams = min(streams, Self.usualStreams)
        throw .transport(error)
      }
      streams = reply.isMultiplexed ? max(streams, reply.streams, Self.usualStreams) : 0
      switch question {
      case .status(let sealed, _):
        let answer = try inquiry.answer(reply, to: sealed)
        // A service that does not know the session cannot sign: a mark in its reply does not count.
        guard case .status = answer else { return .answer(answer) }
        return .answer(answer, mark: try inquiry.mark(reply, to: sealed))
      case .mark(let sealed): return .mark(try inquiry.mark(reply, to: sealed))
      case .users(let sealed, let asked, _) where asked.signed != nil:
        return .signedUsers(try inquiry.signedUsers(reply, to: sealed))
      case .users(let sealed, let asked, _): return .users(try inquiry.users(reply, to: sealed, asked: asked))
      case .codeUse(let sealed):
        switch try inquiry.answerToCodeUse(reply, to: sealed) {
        case .noted: return .codeUseTold
        case .disowned: return .codeUseDisowned
        case .refused: return .codeUseRefused
        }
      case .end(let sealed):
        try inquiry.confirmEnd(reply, to: sealed)
        return .endTold
      }
    } catch { return .failed(error) }
  }
}
