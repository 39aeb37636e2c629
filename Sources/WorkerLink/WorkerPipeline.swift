import HostSystem
import IAMPASSProtocol

/// Many requests at once by one worker, for a loop that does the waiting.
///
/// A worker that died is replaced at the next request, with growing pauses. Not for several threads at once.
public final class WorkerPipeline {
  /// How a request ended.
  public typealias Outcome = Result<HTTPReply, TransportError>

  /// Between two starts of a worker, in ms: one that dies at once must not be started in a circle.
  private static let pauses: ClosedRange<Int64> = 250...60_000
  /// A worker that has not reported this long after a request's deadline, in ms, is stuck.
  private static let reportTime: Int64 = 2_000
  /// A worker that lived this long, in ms, was sound.
  private static let soundLife: Int64 = 60_000

  /// Of what has come, at once: 1 MiB, so that whoever waits for the rest is not held up.
  private static let mostPieces = 64

  private let settings: WorkerSettings
  private var socket: WorkerSocket?
  private var lastID: UInt32 = 0
  private var underWay: [UInt32: MonotonicInstant] = [:]
  private var failed: [(UInt32, Outcome)] = []
  private var started = MonotonicInstant(nanoseconds: 0)
  private var nextStart = MonotonicInstant(nanoseconds: 0)
  private var pause = pauses.lowerBound
  private var nextLook = MonotonicInstant(nanoseconds: 0)

  /// Starts nothing: that is left to the first request.
  public init(settings: WorkerSettings) { self.settings = settings }

  /// To be waited on for reading, and for writing where ``wantsToSend``; -1 where there is no worker.
  public var descriptor: Int32 { socket?.descriptor ?? -1 }
  public var wantsToSend: Bool { socket?.wantsToSend ?? false }
  /// Outcomes that ``take(now:)`` would return at once.
  public var hasOutcomes: Bool { !failed.isEmpty }

  /// Queues a request for ``flush()``; its outcome comes from ``take(now:)``, by `deadline` and four seconds.
  public func send(_ request: HTTPRequest, deadline: MonotonicInstant, now: MonotonicInstant) -> UInt32 {
    lastID &+= 1
    do throws(TransportError) {
      try runningSocket(now).queue(.request(id: lastID, deadline: deadline, request))
      underWay[lastID] = deadline
    } catch { failed.append((lastID, .failure(error))) }
    return lastID
  }

  /// Sends what is queued, as far as the worker takes it now; ``take(now:)`` sends the rest. Never waits.
  public func flush() { socket?.flush() }

  /// What has come since the last call. Never waits.
  public func take(now: MonotonicInstant) -> [(UInt32, Outcome)] {
    var outcomes = failed
    failed = []
    do throws(TransportError) {
      if let socket {
        socket.flush()
        for _ in 0..<Self.mostPieces {
          // What was said before an end still counts.
          let isMore = Result { () throws(TransportError) in try socket.receive() }
          try takeFrames(socket, into: &outcomes)
          guard try isMore.get() else { break }
        }
      }
      try giveUpStuckWorker(now)
    } catch {
      outcomes += underWay.keys.map { ($0, .failure(error)) }
      drop(now)
    }
    return outcomes
  }

  /// Ends the worker; what is under way is forgotten.
  public func stop() {
    socket = nil
    underWay = [:]
    failed = []
    nextStart = MonotonicInstant(nanoseconds: 0)
  }

  private func takeFrames(_ socket: WorkerSocket, into outcomes: inout [(UInt32, Outcome)]) throws(TransportError) {
    while let frame = try socket.next() {
      let (id, outcome): (UInt32, Outcome)
      switch frame {
      case .reply(let number, let reply): (id, outcome) = (number, .success(reply))
      case .failure(let number, let error) where error.code.isWorkersReport:
        (id, outcome) = (number, .failure(error))
      default: throw TransportError(.workerDied, detail: "unexpected frame from the worker")
      }
      guard underWay.removeValue(forKey: id) != nil else {
        throw TransportError(.workerDied, detail: "the worker answered what was not asked")
      }
      outcomes.append((id, outcome))
    }
  }

  private func giveUpStuckWorker(_ now: MonotonicInstant) throws(TransportError) {
    // Now and then: with a thousand questions under way the oldest is not looked for at each answer.
    guard now >= nextLook else { return }
    nextLook = now.advanced(milliseconds: Self.reportTime)
    guard let oldest = underWay.values.min(), now >= oldest.advanced(milliseconds: Self.reportTime) else { return }
    throw TransportError(.workerDied, detail: "no report from the worker")
  }

  private func drop(_ now: MonotonicInstant) {
    socket = nil
    underWay = [:]
    if now.milliseconds(since: started) > Self.soundLife { pause = Self.pauses.lowerBound }
    nextStart = now.advanced(milliseconds: pause)
    pause = min(pause * 2, Self.pauses.upperBound)
  }

  private func runningSocket(_ now: MonotonicInstant) throws(TransportError) -> WorkerSocket {
    if let socket { return socket }
    guard now >= nextStart else { throw TransportError(.workerFailed, detail: "the worker died a moment ago") }
    do throws(TransportError) {
      let fresh = WorkerSocket(try settings.startedWorker())
      try fresh.post(.settings(settings.origin))
      socket = fresh
      started = now
      return fresh
    } catch {
      drop(now)
      throw error
    }
  }
}
