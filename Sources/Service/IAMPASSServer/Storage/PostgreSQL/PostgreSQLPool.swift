import NIOPosix
import PostgreSQLLink
import Synchronization

/// Connections to one database, each lent to one operation at a time.
final class PostgreSQLPool: Sendable {
  /// The greatest number of this process's operations that ask a database at the same time. Further ones wait for their
  /// turn.
  static let width = 8

  /// libpq waits in the thread that asks. Swift's own threads must not be kept waiting: these are the service's.
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

  /// See ``inThread(_:)``.
  private static let longestTurn = Duration.seconds(5)

  private let address: PostgreSQLAddress
  /// The database's clock, which each new connection is asked for.
  private let time: PostgreSQLTime
  private let idle = Mutex(Idle())
  private let lastHost = LastHost()
  /// When the database failed last.
  private let failure = Mutex<ContinuousClock.Instant?>(nil)

  init(_ address: PostgreSQLAddress, _ time: PostgreSQLTime) {
    self.address = address
    self.time = time
  }

  /// Does `work` in a thread that may wait.
  ///
  /// - Throws: what `work` throws. Throws at once, without doing it, if `work` had to wait for its turn for as long as
  ///   ``longestTurn`` and the database failed others meanwhile: otherwise the last of many would wait for minutes.
  func inThread<Value: Sendable>(_ work: @escaping @Sendable (PostgreSQLPool) throws -> Value) async throws -> Value {
    let arrival = ContinuousClock.now
    return try await Self.threads.runIfActive {
      if let refusal = self.refusal(ofArrival: arrival) { throw refusal }
      do { return try work(self) } catch let error as PostgreSQLError {
        if [.unreachable, .locked].contains(StorageTrouble(error)) { self.failure.withLock { $0 = .now } }
        throw error
      }
    }
  }

  /// For whoever has waited for a turn since then: see ``inThread(_:)``.
  func refusal(ofArrival arrival: ContinuousClock.Instant) -> PostgreSQLError? {
    guard arrival.duration(to: .now) >= Self.longestTurn, let failure = failure.withLock(\.self), failure >= arrival
    else { return nil }
    return PostgreSQLError(.notConnected, detail: "the database failed those who came before")
  }

  /// Lends a connection to `work`. It comes back without a transaction; a connection that was lost does not come back.
  ///
  /// - Parameter isNew: no idle connection will do: all of them are closed.
  func lend<Value>(new isNew: Bool = false, _ work: (PostgreSQLConnection) throws -> Value) throws -> Value {
    if isNew { closeAll() }
    let connection = try take() ?? connected()
    defer {
      connection.rollBack()
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
    return connection
  }
}
