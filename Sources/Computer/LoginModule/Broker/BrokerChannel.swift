import CHost
import Glibc
import HostSystem
import WorkerLink

/// Messages over one connection between a module and the broker. Every wait is bounded.
public final class BrokerChannel: Interruption {
  /// Why there is no message.
  public enum Failure: Error, Sendable, Equatable {
    /// The other side has closed the connection, was too slow, or sent an invalid message.
    case gone
    case interrupted
  }

  /// The time between two checks for pending signals, in milliseconds.
  private static let slice: Int64 = 100

  /// The connection's socket, which the channel closes.
  public let descriptor: Int32

  /// - Parameter descriptor: a connected socket that does not block.
  public init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Whether the other side has closed the connection, or has sent bytes. A caller that waits for its phone sends
  /// nothing.
  public func isPending() -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) != 0
  }

  /// - Throws: ``Failure/gone`` if the message is too long, or not taken within ``BrokerMessage/patience``.
  public func send(_ message: BrokerMessage) throws(Failure) {
    guard var rest = message.encoded()?[...] else { throw .gone }
    let end = MonotonicInstant.now().advanced(milliseconds: BrokerMessage.patience)
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { CHost.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent > 0 {
        rest = rest.dropFirst(sent)
        continue
      }
      guard errno == EAGAIN || errno == EINTR else { throw .gone }
      try wait(for: Int16(POLLOUT), until: end, nil)
    }
  }

  /// The next message.
  ///
  /// - Parameters:
  ///   - deadline: the latest time for its first byte. The rest has ``BrokerMessage/patience``.
  ///   - interruption: ends the wait.
  public func receive(by deadline: MonotonicInstant, interruption: (any Interruption)?) throws(Failure) -> BrokerMessage
  {
    var length = try bytes(1, until: deadline, interruption)
    let end = MonotonicInstant.now().advanced(milliseconds: BrokerMessage.patience)
    length += try bytes(1, until: end, interruption)
    let count = Int(length[0]) << 8 | Int(length[1])
    guard (1...BrokerMessage.greatestLength).contains(count) else { throw .gone }
    guard let message = BrokerMessage(decoding: try bytes(count, until: end, interruption)) else { throw .gone }
    return message
  }

  private func bytes(
    _ count: Int, until end: MonotonicInstant, _ interruption: (any Interruption)?
  ) throws(Failure) -> [UInt8] {
    var found: [UInt8] = []
    while found.count < count {
      var chunk = [UInt8](repeating: 0, count: count - found.count)
      // SAFETY: recv writes at most the chunk's size and returns the number of bytes.
      let received = chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if received > 0 {
        found += chunk[..<received]
        continue
      }
      guard received < 0, errno == EAGAIN || errno == EINTR else { throw .gone }
      try wait(for: Int16(POLLIN), until: end, interruption)
    }
    return found
  }

  private func wait(
    for events: Int16, until end: MonotonicInstant, _ interruption: (any Interruption)?
  ) throws(Failure) {
    if interruption?.isPending() == true { throw .interrupted }
    let left = end.milliseconds(since: .now())
    guard left > 0 else { throw .gone }
    var entries = [
      pollfd(fd: descriptor, events: events, revents: 0),
      pollfd(fd: interruption?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    iampass_clear_vector_registers()
    _ = poll(&entries, 2, Int32(min(left, interruption == nil ? left : Self.slice)))
  }
}
