import HostSystem
import IAMPASSProtocol

/// Many requests at once through one worker, for a loop that does the waiting.
///
/// A worker that died is replaced at the next request, with growing pauses. Only one thread may use it.
public final class WorkerPipeline {
  /// How a request ended.
  public typealias Outcome = Result<HTTPReply, TransportError>

  /// In ms, between two starts of a worker: a worker that dies immediately must not be restarted in a tight loop.
  private static let pauses: ClosedRange<Int64> = 250...60_000
  /// In ms. A worker without a report this long after a request's deadline is stuck.
  private static let reportTime: Int64 = 2_000
  /// In ms. A worker that lived this long was healthy.
  private static let soundLife: Int64 = 60_000

  /// In bytes, of received data at once: 1 MiB, so that the loop's other work goes on.
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

  /// Does not start a worker. The first request does.
  public init(settings: WorkerSettings) { self.settings = settings }

  /// The descriptor to wait on for reading, and with ``wantsToSend`` for writing; -1 without a worker.
  public var descriptor: Int32 { socket?.descriptor ?? -1 }
  public var wantsToSend: Bool { socket?.wantsToSend ?? false }
  /// Outcomes that ``take(now:)`` would return immediately.
  public var hasOutcomes: Bool { !failed.isEmpty }

  /// Queues a request for ``flush()``. ``take(now:)`` returns its outcome at most four seconds after `deadline`.
  public func send(_ request: HTTPRequest, deadline: MonotonicInstant, now: MonotonicInstant) -> UInt32 {
    lastID &+= 1
    do throws(TransportError) {
      try runningSocket(now).queue(.request(id: lastID, deadline: deadline, request))
      underWay[lastID] = deadline
    } catch { failed.append((lastID, .failure(error))) }
    return lastID
  }

  /// Sends as much of the queue as the worker accepts now. ``take(now:)`` sends the rest. Never waits.
  public func flush() { socket?.flush() }

  /// The outcomes since the last call. Never waits.
  public func take(now: MonotonicInstant) -> [(UInt32, Outcome)] {
    var outcomes = failed
    failed = []
    do throws(TransportError) {
      if let socket {
        socket.flush()
        for _ in 0..<Self.mostPieces {
          // Replies that came before the worker's end still count.
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

  /// Ends the worker, and forgets the requests under way.
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
    // Not at each reply: finding the oldest of a thousand requests takes too long.
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
    // Also for a start that fails: it does not count as a healthy life, so that the pause grows.
    started = now
    do throws(TransportError) {
      let fresh = WorkerSocket(try settings.startedWorker())
      try fresh.post(.settings(settings.origin))
      socket = fresh
      return fresh
    } catch {
      drop(now)
      throw error
    }
  }
}
