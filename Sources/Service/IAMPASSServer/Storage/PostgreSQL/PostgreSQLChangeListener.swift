import NIOPosix
import PostgreSQLLink
import Synchronization

/// Listens to notifications of the triggers of the table `session`, and of what else phones show, over its own connection.
///
/// Each message has the history's counter, and messages come in the order of commits. Each second the counter is read:
/// if it was ahead of the messages a second ago, a message was lost. A new connection may have missed any message. A message
/// about a phone itself is not counted: should it be lost on a connection that lives, the page looks later by itself. Each
/// second the tables are also checked, because a newer server may have changed them.
final class PostgreSQLChangeListener: ChangeListener {
  private static let sweepTime = Duration.seconds(1)

  fileprivate struct Subscription {
    let connection: PostgreSQLConnection
    /// The counter of the last message.
    var received: Int64
    /// The counter at the last sweep.
    var swept: Int64
    var nextSweep: ContinuousClock.Instant
    var hasLock: Bool
    var holdsHousekeeperLease: Bool
  }

  /// SAFETY: only the one thread uses it.
  private final class Slot: @unchecked Sendable { var subscription: Subscription? }

  private let pool: PostgreSQLPool
  private let time: PostgreSQLTime
  private let lease: PostgreSQLHousekeeperLease
  private let slot = Slot()
  private let isHousekeeper = Atomic(false)
  /// This server as it shows itself; nil for a command.
  private let shown = Mutex<RunningServer?>(nil)
  private let thread = NIOThreadPool(numberOfThreads: 1)

  init(_ pool: PostgreSQLPool, _ time: PostgreSQLTime, _ lease: PostgreSQLHousekeeperLease) {
    self.pool = pool
    self.time = time
    self.lease = lease
  }

  deinit { thread.shutdownGracefully { _ in } }

  func events() async throws -> [ServerEvent] {
    thread.start()
    return try await thread.runIfActive { [self] in
      defer { isHousekeeper.store(slot.subscription?.holdsHousekeeperLease ?? false, ordering: .relaxed) }
      do {
        let events = try receive()
        let steps = time.takeSteps().map { ServerEvent.clockStepped(milliseconds: $0) }
        let corrections = time.takeCorrections().map { ServerEvent.timeCorrected(milliseconds: $0) }
        let stalls = lease.takeStall() ? [ServerEvent.housekeepingStalled] : []
        return events + steps + corrections + stalls + (pool.history.takeBeginning() ? [.historyBegan] : [])
      } catch {
        slot.subscription = nil
        throw error
      }
    }
  }

  /// Shows commands this server, as long as a connection lives that listens. The first one is made here. If that fails,
  /// this throws, and ``events()`` makes it.
  func show(_ server: RunningServer) async throws {
    shown.withLock { $0 = server }
    thread.start()
    try await thread.runIfActive { [self] in
      if slot.subscription == nil { slot.subscription = try begin() }
    }
  }

  var holdsHousekeeperLease: Bool { isHousekeeper.load(ordering: .relaxed) }

  private func receive() throws -> [ServerEvent] {
    guard var subscription = slot.subscription else {
      slot.subscription = try begin()
      return [.missed]
    }
    defer { slot.subscription = subscription }
    var events: [ServerEvent] = []
    if let first = try subscription.connection.notification(
      within: max(ContinuousClock.now.duration(to: subscription.nextSweep), .zero))
    {
      subscription.note(first, in: &events)
      while let next = try subscription.connection.notification(within: .zero) { subscription.note(next, in: &events) }
    }
    if ContinuousClock.now >= subscription.nextSweep, try sweep(&subscription) { events = [.missed] }
    return events
  }

  private func begin() throws -> Subscription {
    let connection = try pool.connected()
    // The triggers' channel: see ``PostgreSQLMigration/changeChannel``.
    try connection.run([
      PostgreSQLCall("DO $$ BEGIN EXECUTE format('LISTEN %I', change_channel(current_schema())); END $$")
    ])
    if let server = shown.withLock({ $0 }) { try PostgreSQLServers.show(server, by: connection) }
    let counter = try Self.counter(connection)
    try PostgreSQLSchema.refuseNewer(connection)
    var hasLock = false
    // While the database was away nothing could get anywhere.
    lease.noteProgress()
    let holdsHousekeeperLease = try lease.renewOrTake(by: connection, hasLock: &hasLock)
    return Subscription(
      connection: connection, received: counter, swept: counter, nextSweep: .now + Self.sweepTime, hasLock: hasLock,
      holdsHousekeeperLease: holdsHousekeeperLease)
  }

  /// Whether a message was lost.
  private func sweep(_ subscription: inout Subscription) throws -> Bool {
    let isLost = subscription.received < subscription.swept
    if isLost { subscription.received = subscription.swept }
    subscription.swept = try Self.counter(subscription.connection)
    subscription.nextSweep = .now + Self.sweepTime
    try PostgreSQLSchema.refuseNewer(subscription.connection)
    try pool.history.check(subscription.connection)
    subscription.holdsHousekeeperLease = try lease.renewOrTake(
      by: subscription.connection, hasLock: &subscription.hasLock)
    try time.measure(subscription.connection)
    time.mend(by: pool)
    return isLost
  }

  private static func counter(_ connection: PostgreSQLConnection) throws -> Int64 {
    let row = try connection.ask([PostgreSQLCall("SELECT counter FROM service_mark")])[0].first
    guard let counter: Int64 = try row?.get("counter") else { throw DamagedRow(column: "counter") }
    return counter
  }
}

extension PostgreSQLChangeListener.Subscription {
  /// `COUNTER session ID` or `COUNTER user NUMBER`.
  fileprivate mutating func note(_ notification: PostgreSQLNotification, in events: inout [ServerEvent]) {
    let words = notification.payload.split(separator: " ")
    guard words.count == 3, let counter = Int64(words[0]) else {
      events.append(.missed)
      return
    }
    received = max(received, counter)
    switch words[1] {
    case "session": events.append(.changed(.session(String(words[2]))))
    case "user": events.append(Int64(words[2]).map { .changed(.user($0)) } ?? .missed)
    default: events.append(.missed)
    }
  }
}
