import CHost
import Glibc

/// Frames to and from one worker, without waiting. Every bad end is `workerDied`.
final class WorkerSocket {
  private let end: any WorkerEnd
  private var outgoing: ArraySlice<UInt8> = []
  private var incoming = FrameBuffer(greatest: FrameBuffer.greatestReply)

  init(_ end: any WorkerEnd) { self.end = end }

  var descriptor: Int32 { end.socket }
  /// Whether the worker has left, as at the end of its lifetime.
  var isOver: Bool { end.hasLeft }
  var wantsToSend: Bool { !outgoing.isEmpty }

  /// Queues a frame, and sends as much as fits now.
  func post(_ frame: WorkerFrame) throws(TransportError) {
    try queue(frame)
    flush()
  }

  /// Queues a frame for ``flush()``.
  func queue(_ frame: WorkerFrame) throws(TransportError) {
    let bytes = frame.encoded()
    guard bytes.count - 4 <= FrameBuffer.greatestRequest else {
      throw TransportError(.workerFailed, detail: "request too large")
    }
    outgoing.append(contentsOf: bytes)
  }

  func flush() {
    while !outgoing.isEmpty {
      // SIGPIPE must not kill a host.
      let sent = outgoing.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent < 0, errno == EINTR { continue }
      if sent < 0, errno == EAGAIN { return }
      // A worker that left may have sent its reason, which is still to be read.
      if sent < 0 { return outgoing.removeAll() }
      // A new array: the slice's memory would keep the sent bytes, with a user's token in them.
      outgoing = ArraySlice(Array(outgoing.dropFirst(sent)))
    }
  }

  /// The next frame that has arrived completely; nil without one.
  func next() throws(TransportError) -> WorkerFrame? {
    do { return try incoming.next() } catch {
      throw TransportError(.workerDied, detail: "malformed frame from the worker")
    }
  }

  private static let chunk = 16_384

  /// Takes some of the received bytes.
  ///
  /// - Returns: whether more may be waiting.
  @discardableResult
  func receive() throws(TransportError) -> Bool {
    var hasEnded = false
    let chunk = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
      // SAFETY: recv writes at most the buffer's size and returns the number of bytes.
      let received = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      count = max(0, received)
      hasEnded = received == 0 || received < 0 && errno != EAGAIN && errno != EINTR
    }
    incoming.append(chunk)
    if hasEnded { throw TransportError(.workerDied, detail: "the worker left") }
    return chunk.count == Self.chunk
  }
}

extension TransportError.Code {
  /// Whether a worker may report this about a request. This side itself decides how the worker ended.
  var isWorkersReport: Bool { self != .workerDied && self != .interrupted }
}
