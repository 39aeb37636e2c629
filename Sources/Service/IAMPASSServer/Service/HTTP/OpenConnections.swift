import Glibc
import NIOCore
import NIOSSL
import Synchronization

/// The connections of a listener: how many there may be, and which make way for others.
///
/// The number of unproven connections is bounded: those whose client has not shown a valid signature or console cookie
/// yet. Beyond the bound, the one that has been open longest is closed, so that strangers who keep theirs busy do not shut
/// others out. All connections together leave some of the process's descriptors free: libdispatch ends a process that has
/// none left when it looks after its threads.
final class OpenConnections: Sendable {
  /// How many there may be.
  struct Bound: Sendable {
    /// Unproven ones; beyond these, whichever had its ``patience`` goes.
    let usual: Int
    /// The greatest number of unproven connections. Beyond it the oldest is closed, whatever its age.
    let most: Int
    /// The greatest number of all connections. Beyond it the oldest unproven one is closed, perhaps the newest of all.
    let all: Int
    /// How long a connection may take to prove itself: after a restart all computers and phones come at once.
    let patience: Duration

    static let service = Bound(usual: 1_024, most: 8_192, all: .max, patience: .seconds(10))
    /// For a listener whose clients never prove anything.
    static let metrics = Bound(usual: 32, most: 32, all: 32, patience: .zero)

    /// As many as `descriptors` allow: a quarter unproven, and some hundred to spare.
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
    var unproven: [UInt64: Connection] = [:]
    var oldest: UInt64 = 0
    var next: UInt64 = 0

    mutating func add(_ channel: any Channel, at now: ContinuousClock.Instant) {
      numbers[ObjectIdentifier(channel)] = next
      unproven[next] = Connection(channel: channel, openedAt: now)
      next += 1
    }

    mutating func prove(_ channel: any Channel) {
      if let number = numbers[ObjectIdentifier(channel)] { unproven[number] = nil }
    }

    mutating func remove(_ channel: any Channel) {
      if let number = numbers.removeValue(forKey: ObjectIdentifier(channel)) { unproven[number] = nil }
    }

    /// Removes those that make way, the oldest first.
    mutating func makeRoom(_ bound: Bound, at now: ContinuousClock.Instant) -> [any Channel] {
      var leaving: [any Channel] = []
      while unproven.count > bound.usual || numbers.count > bound.all {
        while oldest < next, unproven[oldest] == nil { oldest += 1 }
        guard let connection = unproven[oldest],
          unproven.count > bound.most || numbers.count > bound.all
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

  /// Counts a new connection, and closes those that make way for it.
  func opened(_ channel: any Channel, at now: ContinuousClock.Instant = .now) {
    let bound = bound.limited(toFit: Self.descriptors)
    let leaving = state.withLock { state in
      state.add(channel, at: now)
      return state.makeRoom(bound, at: now)
    }
    for channel in leaving { channel.eventLoop.execute { channel.closeAtOnce() } }
    channel.closeFuture.whenComplete { _ in self.state.withLock { $0.remove(channel) } }
  }

  /// The connection's client has proven who it is.
  func proven(_ channel: any Channel) { state.withLock { $0.prove(channel) } }

  /// How many the process may have (setrlimit(2)).
  private static var descriptors: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 64 }
    return Int(clamping: limit.rlim_cur)
  }
}

extension Channel {
  /// Closes without TLS's farewell, for whose answer NIO would hold the descriptor for some seconds. On the channel's event
  /// loop only.
  fileprivate func closeAtOnce() {
    guard let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else {
      return close(promise: nil)
    }
    tls.close(promise: nil)
  }
}
