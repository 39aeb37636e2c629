import CHost
import Glibc
import HostSystem

/// Sends one request after another to one worker. Every bad end is `workerDied`.
final class WorkerConversation {
  private let socket: WorkerSocket
  /// A worker that waited for this login, until its greeting arrives.
  private var stranger: StandbyWorker?

  /// Hosts such as sudo block signals while PAM runs, so that signals do not wake the wait. A person notices half a
  /// second.
  private static let longestSlice: Int64 = 100

  /// A running worker that has its settings.
  init(_ end: any WorkerEnd, _ settings: WorkerOrigin) throws(TransportError) {
    socket = WorkerSocket(end)
    stranger = end as? StandbyWorker
    try socket.post(.settings(settings))
  }

  var isOver: Bool { socket.isOver }

  func post(_ frame: WorkerFrame) throws(TransportError) { try socket.post(frame) }

  /// Cancels a request. Its late reply is dropped. A cancellation that cannot be sent now goes with the next frame.
  func cancel(_ id: UInt32) { try? socket.post(.cancel(id: id)) }

  func reply(
    to id: UInt32, deadline: MonotonicInstant, interruption: (any Interruption)?
  ) throws(TransportError) -> HTTPReply {
    while true {
      if let reply = try bufferedReply(to: id) { return reply }
      if interruption?.isPending() == true { throw TransportError(.interrupted) }
      let left = deadline.milliseconds(since: .now())
      guard left > 0 else { throw TransportError(.workerDied, detail: "no report from the worker") }
      try wait(milliseconds: min(left, Self.longestSlice), interruption?.descriptor ?? -1)
    }
  }

  /// Whether this worker's greeting makes it usable. It has at most `milliseconds` to send the greeting.
  func isKnown(within milliseconds: Int64, interruption: (any Interruption)?) throws(TransportError) -> Bool {
    guard let expected = stranger else { return true }
    let end = MonotonicInstant.now().advanced(milliseconds: milliseconds)
    while true {
      if let frame = try socket.next() {
        guard case .greeting(let greeting) = frame, expected.accepts(greeting) else { return false }
        stranger = nil
        return true
      }
      let left = end.milliseconds(since: .now())
      guard left > 0 else { return false }
      try wait(milliseconds: left, interruption?.descriptor ?? -1)
    }
  }

  private func bufferedReply(to id: UInt32) throws(TransportError) -> HTTPReply? {
    while let frame = try socket.next() {
      switch frame {
      case .reply(id, let reply): return reply
      case .failure(id, let error) where error.code.isWorkersReport: throw error
      case .reply(let other, _) where isEarlier(other, than: id): continue
      case .failure(let other, _) where isEarlier(other, than: id): continue
      default: throw TransportError(.workerDied, detail: "unexpected frame from the worker")
      }
    }
    return nil
  }

  private func isEarlier(_ other: UInt32, than id: UInt32) -> Bool { Int32(bitPattern: id &- other) > 0 }

  private func wait(milliseconds: Int64, _ interruption: Int32) throws(TransportError) {
    let events = POLLIN | (socket.wantsToSend ? POLLOUT : 0)
    // poll(2) ignores a negative descriptor.
    var entries = [
      pollfd(fd: socket.descriptor, events: Int16(events), revents: 0),
      pollfd(fd: interruption, events: Int16(POLLIN), revents: 0),
    ]
    var slice = timespec(tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000) * 1_000_000)
    // A dump of a host that waits would have what was copied last: the request, and in it the session's token.
    iampass_clear_vector_registers()
    guard ppoll(&entries, 2, &slice, nil) >= 0 || errno == EINTR else {
      throw TransportError(.workerDied, detail: "ppoll failed")
    }
    if entries[1].revents != 0 { throw TransportError(.interrupted) }
    guard entries[0].revents != 0 else { return }
    socket.flush()
    try socket.receive()
  }
}
