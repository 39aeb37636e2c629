import CHost
import Glibc

/// Frames to and from one worker. Whatever ends it badly is `workerDied`.
final class WorkerConversation {
  private let process: WorkerProcess
  private var outgoing: ArraySlice<UInt8> = []
  private var incoming = FrameBuffer(greatest: FrameBuffer.greatestReply)

  /// Hosts such as sudo block signals while PAM runs, so nothing wakes the wait; a person notices half a second.
  private static let longestSlice: Int64 = 100

  init(_ process: WorkerProcess) { self.process = process }

  /// Whether the worker has left, as at the end of its lifetime.
  var isOver: Bool { process.hasLeft }

  /// Queues a frame and sends what fits at once.
  func post(_ frame: WorkerFrame) throws(TransportError) {
    let bytes = frame.encoded()
    guard bytes.count - 4 <= FrameBuffer.greatestRequest else {
      throw TransportError(.workerFailed, detail: "request too large")
    }
    outgoing.append(contentsOf: bytes)
    try flush()
  }

  /// Gives a request up; its late reply will be dropped. What cannot be sent now goes with the next frame.
  func cancel(_ id: UInt32) { try? post(.cancel(id: id)) }

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

  private func bufferedReply(to id: UInt32) throws(TransportError) -> HTTPReply? {
    while let frame = try nextFrame() {
      switch frame {
      case .reply(id, let reply): return reply
      case .failure(id, let error) where Self.isReport(error.code): throw error
      case .reply(let other, _) where isEarlier(other, than: id): continue
      case .failure(let other, _) where isEarlier(other, than: id): continue
      default: throw TransportError(.workerDied, detail: "unexpected frame from the worker")
      }
    }
    return nil
  }

  /// Whether a worker can say this about a request; how the worker itself ended is for this side to tell.
  private static func isReport(_ code: TransportError.Code) -> Bool { code != .workerDied && code != .interrupted }

  private func isEarlier(_ other: UInt32, than id: UInt32) -> Bool { Int32(bitPattern: id &- other) > 0 }

  private func nextFrame() throws(TransportError) -> WorkerFrame? {
    do {
      return try incoming.next()
    } catch {
      throw TransportError(.workerDied, detail: "malformed frame from the worker")
    }
  }

  private func wait(milliseconds: Int64, _ interruption: Int32) throws(TransportError) {
    let events = POLLIN | (outgoing.isEmpty ? 0 : POLLOUT)
    // A negative descriptor is passed over (poll(2)).
    var entries = [
      pollfd(fd: process.socket, events: Int16(events), revents: 0),
      pollfd(fd: interruption, events: Int16(POLLIN), revents: 0),
    ]
    var slice = timespec(tv_sec: 0, tv_nsec: Int(milliseconds) * 1_000_000)
    guard ppoll(&entries, 2, &slice, nil) >= 0 || errno == EINTR else {
      throw TransportError(.workerDied, detail: "ppoll failed")
    }
    if entries[1].revents != 0 { throw TransportError(.interrupted) }
    guard entries[0].revents != 0 else { return }
    if !outgoing.isEmpty { try flush() }
    try receive()
  }

  private func flush() throws(TransportError) {
    while !outgoing.isEmpty {
      // A host must not die of SIGPIPE.
      let sent = outgoing.withUnsafeBytes { send(process.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent < 0, errno == EINTR { continue }
      if sent < 0, errno == EAGAIN { return }
      // A worker that left may have said why; that is still to be read.
      if sent < 0 { return outgoing.removeAll() }
      outgoing.removeFirst(sent)
    }
  }

  private func receive() throws(TransportError) {
    var hasEnded = false
    let chunk = [UInt8](unsafeUninitializedCapacity: 16384) { buffer, count in
      // SAFETY: recv writes at most the buffer's size and says how much it wrote.
      let received = recv(process.socket, buffer.baseAddress, buffer.count, 0)
      count = max(0, received)
      hasEnded = received == 0 || received < 0 && errno != EAGAIN && errno != EINTR
    }
    incoming.append(chunk)
    if hasEnded { throw TransportError(.workerDied, detail: "the worker left") }
  }
}
