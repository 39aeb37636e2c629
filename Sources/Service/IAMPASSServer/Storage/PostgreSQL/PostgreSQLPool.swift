import NIOPosix
import PostgreSQLLink
import Synchronization

/// Connections to one database, each lent to one operation at a time.
final class PostgreSQLPool: Sendable {
  /// The kinds of operations. Each kind has its own places, so that it does not wait for another kind.
  enum Kind: CaseIterable, Sendable {
    case reading
    /// A transaction under the lock that all servers share: it waits for the lock in its thread.
    case writing
    /// Spending nonces. Each signed request needs it, even one that only reads.
    case nonceUse
    /// One statement on counters that all servers share.
    case counting
    /// A health check, which must not wait behind the work that it checks.
    case checking

    /// The most operations of a kind at the same time. Further ones wait for their turn.
    fileprivate var places: Int {
      switch self {
      case .reading: 6
      case .writing: 3
      case .nonceUse: nonceUseTurns
      case .counting: 2
      case .checking: 1
      }
    }

    fileprivate func queue(in load: StorageLoad) -> StorageLoad.Queue {
      switch self {
      case .reading: load[.read]
      case .writing: load[.write]
      // Nonces wait before, in ``NonceUseQueue``: there are as many places as turns.
      case .nonceUse: StorageLoad.Queue()
      case .counting: load[.counter]
      case .checking: load[.health]
      }
    }
  }

  /// The number of transactions that use nonces at the same time.
  static let nonceUseTurns = 2
  /// The most operations of all kinds at the same time.
  static let width = Kind.allCases.reduce(0) { $0 + $1.places }

  /// libpq blocks the calling thread, and Swift's own threads must not be blocked. So the service has its own threads,
  /// one for each place.
  private static let threads: NIOThreadPool = {
    let threads = NIOThreadPool(numberOfThreads: width)
    threads.start()
    return threads
  }()

  /// SAFETY: a connection is used by one thread at a time: it is taken out of the pool under a lock, and put back after
  /// its last use.
  private struct Idle: @unchecked Sendable {
    var connections: [PostgreSQLConnection] = []
  }

  private let address: PostgreSQLAddress
  /// The database's clock, which is read over each new connection.
  private let time: PostgreSQLTime
  /// The check of each new connection.
  let history = PostgreSQLHistory()
  private let idle = Mutex(Idle())
  private let lastHost = LastHost()
  private let places: [Kind: ConcurrencyLimit]
  let load: StorageLoad
  /// How often its operations have waited for answers of the database.
  let roundTrips = Atomic<Int>(0)

  /// - Parameters:
  ///   - patience: the longest time that an operation waits for its turn.
  ///   - load: counts the waits.
  init(_ address: PostgreSQLAddress, _ time: PostgreSQLTime, patience: Duration, load: StorageLoad) {
    self.address = address
    self.time = time
    self.load = load
    places = Dictionary(
      uniqueKeysWithValues: Kind.allCases.map { kind in
        (kind, ConcurrencyLimit(kind.places, patience: patience, queue: kind.queue(in: load)))
      })
  }

  /// The number of idle connections.
  var idleCount: Int { idle.withLock(\.connections.count) }

  /// The number of operations of a kind that wait for their turn.
  func waiting(_ kind: Kind) -> Int { places[kind]?.waiting ?? 0 }

  /// Runs `work` in a thread that may block, once there is a place for its kind.
  ///
  /// - Throws: the errors of `work`. If `work` was not begun: ``StorageBusy`` if it waited too long for its turn, and
  ///   `CancellationError` if the task was cancelled. Once begun, it runs to its end.
  func inThread<Value: Sendable>(
    _ kind: Kind, _ work: @escaping @Sendable (PostgreSQLPool) throws -> Value
  ) async throws -> Value {
    guard let places = places[kind] else { throw StorageBusy() }
    try await places.enter()
    defer { places.leave() }
    return try await Self.threads.runIfActive { try work(self) }
  }

  /// Lends a connection to `work`. It must come back without a transaction. A lost connection is dropped.
  ///
  /// - Parameter isNew: whether to close all idle connections and make a new one.
  func lend<Value>(new isNew: Bool = false, _ work: (PostgreSQLConnection) throws -> Value) throws -> Value {
    if isNew { closeAll() }
    let connection = try take() ?? connected()
    let before = connection.roundTrips
    defer {
      connection.rollBack()
      roundTrips.add(connection.roundTrips - before, ordering: .relaxed)
      // If one connection has ended, the others probably have too.
      if connection.isOpen { keep(connection) } else { closeAll() }
    }
    return try work(connection)
  }

  /// Closes all idle connections.
  func closeAll() { idle.withLock { $0.connections = [] } }

  private func take() -> PostgreSQLConnection? {
    while let connection = idle.withLock({ Taken(connection: $0.connections.popLast()) }).connection {
      // A restarted server has closed its connections.
      if connection.isAlive { return connection }
    }
    return nil
  }

  /// SAFETY: see ``Idle``. The one that takes it out is its only user.
  private struct Taken: @unchecked Sendable { let connection: PostgreSQLConnection? }

  private func keep(_ connection: PostgreSQLConnection) {
    let kept = Taken(connection: connection)
    idle.withLock { idle in
      if let connection = kept.connection, idle.connections.count < Self.width { idle.connections.append(connection) }
    }
  }

  /// Makes a new connection. Settings of the database's administrator must not weaken the promises made here.
  func connected() throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(to: address, last: lastHost)
    // They store nothing. If the connection ends here, the operation that needs it is repeated.
    _ = try connection.ask([
      PostgreSQLCall("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"),
      // A commit must be on the disk when it is answered. Stronger settings stay.
      PostgreSQLCall(
        """
        SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
        """),
      PostgreSQLCall("SET jit = off"),
    ])
    try time.measure(connection)
    try history.check(connection)
    return connection
  }
}
