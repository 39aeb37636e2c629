import CHost
import Glibc
import WorkerLink

/// The worker's end of the socket. It never blocks: a parent that does not read must not hold up other requests.
final class ParentConnection {
  let descriptor: Int32
  private var incoming = FrameBuffer(greatest: FrameBuffer.greatestRequest)
  private var outgoing: ArraySlice<UInt8> = []
  /// The parent has left, or its bytes are not a frame.
  private(set) var isOver = false

  init(descriptor: Int32) { self.descriptor = descriptor }

  var wantsToSend: Bool { !outgoing.isEmpty }

  /// Queues a frame for ``flush()``.
  func send(_ frame: WorkerFrame) { outgoing.append(contentsOf: frame.encoded()) }

  func flush() {
    while !outgoing.isEmpty {
      let sent = outgoing.withUnsafeBytes {
        CHost.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if sent < 0, errno == EINTR { continue }
      if sent < 0 {
        isOver = errno != EAGAIN
        return
      }
      outgoing.removeFirst(sent)
    }
  }

  /// The next frame that has arrived completely; nil without one.
  func next() -> WorkerFrame? {
    guard !isOver else { return nil }
    do { return try incoming.next() } catch {
      isOver = true
      return nil
    }
  }

  /// Takes the bytes that have arrived. If more are left than fit, the next wait returns at once.
  func receive() {
    // Room that the heap has at hand: more would make it larger, and smaller again.
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { chunk in
      // SAFETY: recv writes at most the chunk's size and returns the number of bytes.
      let count = recv(descriptor, chunk.baseAddress, chunk.count, Int32(MSG_DONTWAIT))
      if count > 0 { return incoming.append(UnsafeRawBufferPointer(rebasing: chunk[..<count])) }
      isOver = count == 0 || errno != EAGAIN && errno != EINTR
    }
  }
}
