import Glibc
import NIOCore
import NIOSSL
import Synchronization

/// The connections of a listener. Their number is bounded, and some are closed to make room for others.
///
/// The number of unproven connections is bounded: those whose client has not shown a valid signature or console cookie
/// yet. Beyond the bound, the oldest is closed, so that strangers with busy connections do not block others. All
/// connections together leave some descriptors free, because libdispatch ends a process that has none left.
final class OpenConnections: Sendable {
  /// The bounds on the connections.
  struct Bound: Sendable {
    /// The usual number of unproven connections. Beyond it, connections older than ``patience`` are closed.
    let usual: Int
    /// The greatest number of unproven connections. Beyond it the oldest is closed, whatever its age.
    let most: Int
    /// The greatest number of all connections. Beyond it the oldest unproven one is closed, perhaps the newest of all.
    let all: Int
    /// How long a client may take to authenticate: after a restart all computers and phones connect at once.
    let patience: Duration

    static let service = Bound(usual: 1_024, most: 8_192, all: .max, patience: .seconds(10))
    /// For a listener whose clients do not authenticate.
    static let metrics = Bound(usual: 32, most: 32, all: 32, patience: .zero)

    /// The bounds that fit `descriptors`: a quarter for unproven connections, and some hundred to spare.
    func limited(toFit descriptors: Int) -> Bound {
      let all = min(all, max(descriptors / 2, descriptors - 256))
      return Bound(
        usual: min(usual, descriptors / 4), most: min(most, descriptors / 4), all: all, patience: patience)
    }
  }

  private struct Connection {
    let channel: any Channel
    let openedAt: ContinuousClock.Instant
  }

  private struct State {
    /// All connections, numbered in order of arrival.
    var numbers: [ObjectIdentifier: UInt64] = [:]
    var unauthenticated: [UInt64: Connection] = [:]
    var oldest: UInt64 = 0
    var next: UInt64 = 0

    mutating func add(_ channel: any Channel, at now: ContinuousClock.Instant) {
      numbers[ObjectIdentifier(channel)] = next
      unauthenticated[next] = Connection(channel: channel, openedAt: now)
      next += 1
    }

    mutating func prove(_ channel: any Channel) {
      if let number = numbers[ObjectIdentifier(channel)] { unauthenticated[number] = nil }
    }

    mutating func remove(_ channel: any Channel) {
      if let number = numbers.removeValue(forKey: ObjectIdentifier(channel)) { unauthenticated[number] = nil }
    }

    /// Removes the connections to close, oldest first.
    mutating func makeRoom(_ bound: Bound, at now: ContinuousClock.Instant) -> [any Channel] {
      var leaving: [any Channel] = []
      while unauthenticated.count > bound.usual || numbers.count > bound.all {
        while oldest < next, unauthenticated[oldest] == nil { oldest += 1 }
        guard let connection = unauthenticated[oldest],
          unauthenticated.count > bound.most || numbers.count > bound.all
            || connection.openedAt.duration(to: now) >= bound.patience
        else { break }
        remove(connection.channel)
        leaving.append(connection.channel)
      }
      return leaving
    }
  }

  private let bound: Bound
  private let state = Mutex(State())

  init(_ bound: Bound) { self.bound = bound }

  /// Counts a new connection, and closes others to make room for it.
  func opened(_ channel: any Channel, at now: ContinuousClock.Instant = .now) {
    let bound = bound.limited(toFit: Self.descriptors)
    let leaving = state.withLock { state in
      state.add(channel, at: now)
      return state.makeRoom(bound, at: now)
    }
    for channel in leaving { channel.eventLoop.execute { channel.closeAtOnce() } }
    channel.closeFuture.whenComplete { _ in self.state.withLock { $0.remove(channel) } }
  }

  /// Notes that the connection's client is authenticated.
  func proven(_ channel: any Channel) { state.withLock { $0.prove(channel) } }

  /// The number of descriptors that the process may have (setrlimit(2)).
  private static var descriptors: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 64 }
    return Int(clamping: limit.rlim_cur)
  }
}

extension Channel {
  /// Closes without TLS's close message, for whose answer NIO would hold the descriptor for some seconds. On the
  /// channel's event loop only.
  fileprivate func closeAtOnce() {
    guard let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else {
      return close(promise: nil)
    }
    tls.close(promise: nil)
  }
}
