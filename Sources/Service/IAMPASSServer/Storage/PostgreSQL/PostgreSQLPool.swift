import NIOPosix
import PostgreSQLLink
import Synchronization

/// Connections to one database, each lent to one operation at a time.
final class PostgreSQLPool: Sendable {
  /// What an operation does. Each kind has places of its own, so that none waits behind another kind.
  enum Kind: CaseIterable, Sendable {
    case reading
    /// A transaction under the lock that all servers share: it waits for its turn in its thread.
    case writing
    /// Nonces are spent: each signed request needs it, also one that only reads.
    case spending
    /// One statement on counters that all servers share.
    case counting
    /// A health check, which must not wait behind the work whose health it tells.
    case checking

    /// How many operations of a kind ask a database at the same time at most. Further ones wait for their turn.
    fileprivate var places: Int {
      switch self {
      case .reading: 6
      case .writing: 3
      case .spending: spendingTurns
      case .counting: 2
      case .checking: 1
      }
    }

    fileprivate func queue(in load: StorageLoad) -> StorageLoad.Queue {
      switch self {
      case .reading: load[.read]
      case .writing: load[.write]
      // Nonces wait before, in ``WaitingSpendings``: there are as many places as turns.
      case .spending: StorageLoad.Queue()
      case .counting: load[.counter]
      case .checking: load[.health]
      }
    }
  }

  /// How many transactions spend nonces at the same time.
  static let spendingTurns = 2
  /// How many operations of all kinds ask a database at the same time.
  static let width = Kind.allCases.reduce(0) { $0 + $1.places }
  /// A client that has waited for so long asks again: what is done then is done for nobody.
  static let usualPatience = Duration.seconds(2)

  /// libpq waits in the thread that asks. Swift's own threads must not be kept waiting: these are the service's. There is one
  /// for each place, so that whoever has a place waits for no thread.
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
  /// The database's clock, which each new connection is asked for.
  private let time: PostgreSQLTime
  /// What each new connection is looked at for.
  let history = PostgreSQLHistory()
  private let idle = Mutex(Idle())
  private let lastHost = LastHost()
  private let places: [Kind: WaitingPlaces]
  let load: StorageLoad
  /// How often its operations have waited for the database's answers.
  let roundTrips = Atomic<Int>(0)

  /// - Parameters:
  ///   - patience: how long an operation waits for its turn at most.
  ///   - load: notes how long they wait.
  init(_ address: PostgreSQLAddress, _ time: PostgreSQLTime, patience: Duration, load: StorageLoad) {
    self.address = address
    self.time = time
    self.load = load
    places = Dictionary(
      uniqueKeysWithValues: Kind.allCases.map { kind in
        (kind, WaitingPlaces(kind.places, patience: patience, queue: kind.queue(in: load)))
      })
  }

  /// How many connections are kept that are not lent.
  var idleCount: Int { idle.withLock(\.connections.count) }

  /// How many operations of a kind wait for their turn.
  func waiting(_ kind: Kind) -> Int { places[kind]?.waiting ?? 0 }

  /// Does `work` in a thread that may wait, once there is a place for its kind.
  ///
  /// - Throws: what `work` throws. Without doing it: ``StorageBusy`` if it waited too long for its turn, and
  ///   `CancellationError` if the task was cancelled meanwhile. Once begun, it is done to its end.
  func inThread<Value: Sendable>(
    _ kind: Kind, _ work: @escaping @Sendable (PostgreSQLPool) throws -> Value
  ) async throws -> Value {
    guard let places = places[kind] else { throw StorageBusy() }
    try await places.enter()
    defer { places.leave() }
    return try await Self.threads.runIfActive { try work(self) }
  }

  /// Lends a connection to `work`. It comes back without a transaction; a connection that was lost does not come back.
  ///
  /// - Parameter isNew: no idle connection will do: all of them are closed.
  func lend<Value>(new isNew: Bool = false, _ work: (PostgreSQLConnection) throws -> Value) throws -> Value {
    if isNew { closeAll() }
    let connection = try take() ?? connected()
    let before = connection.roundTrips
    defer {
      connection.rollBack()
      roundTrips.add(connection.roundTrips - before, ordering: .relaxed)
      // What ended one connection has probably ended the others.
      if connection.isOpen { keep(connection) } else { closeAll() }
    }
    return try work(connection)
  }

  /// Closes all connections that are not lent.
  func closeAll() { idle.withLock { $0.connections = [] } }

  private func take() -> PostgreSQLConnection? {
    while let connection = idle.withLock({ Taken(connection: $0.connections.popLast()) }).connection {
      // A server that was restarted has said so.
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

  /// A new connection. What the database's administrator chose for all programs must not change what is promised here.
  func connected() throws -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(to: address, last: lastHost)
    try connection.run([
      PostgreSQLCall("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED"),
      // A commit is on the disk when it is answered. Stronger choices are left alone.
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
