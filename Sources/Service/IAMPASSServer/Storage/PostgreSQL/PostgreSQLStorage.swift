import IAMPASSProtocol
import PostgreSQLLink

/// ``ServiceStorage`` in a PostgreSQL database. Several servers may work on one database.
///
/// **Writes** come one after another: each first locks the empty table `write_turn`. The lock comes before the
/// transaction's snapshot, so that the transaction sees the changes of the one before it. They are also serializable,
/// because nonces and an administrator's own statements change rows without that lock.
///
/// **Repetition.** Nothing is stored if there was a conflict with another transaction (40001, 40P01), if another server
/// changed the tables (0A000), or if the connection ended before the commit was sent. Then the whole operation is
/// repeated, a few times at most. If the commit was sent but not answered, ``PostgreSQLCommits`` finds out. If that
/// fails too, the operation throws.
///
/// **Waits.** A statement may take 5 s, the wait for a lock 3 s, and the wait for an answer 7 s. An operation without a
/// turn within 2 s is refused before it begins. Reads, writes, nonces, counters and health checks have separate turns:
/// see ``PostgreSQLPool/Kind``.
public struct PostgreSQLStorage: Sendable {
  let pool: PostgreSQLPool
  let health: PostgreSQLHealth
  /// The database's address, without a password.
  let url: String
  /// Decides which of its failures are logged.
  let alarm = StorageAlarm()
  let load = StorageLoad(StorageLoad.Kind.allCases, hasLock: true)
  public let clock: StorageClock
  let time: PostgreSQLTime
  let nonceUses: NonceUseQueue
  let sessionKeys = Remembered<SessionKeys>()
  let startGuesses = Remembered<StartGuess>()
  /// News of other servers.
  var changeListener: (any ChangeListener)? { listener }
  let listener: PostgreSQLChangeListener
  let lease: PostgreSQLHousekeeperLease
  /// The keys of the database's sealed secrets.
  public var sealKeys: SealKeys?
  /// The names of the migrations that were done at this opening.
  let changes: [String]

  /// Connects to an existing database of a service, if its tables are this program's. See ``init(url:clocks:)``.
  public init(existing url: String, clocks: MachineClocks? = nil) throws {
    try self.init(url: url, clocks: clocks, isMoving: false, mayMigrate: false)
  }

  /// Connects to the database, and migrates its tables.
  ///
  /// - Parameters:
  ///   - url: `postgresql://…`, without a password.
  ///   - clocks: nil: the database's clocks. Tests give others.
  /// - Throws: ``StorageError``.
  public init(url: String, clocks: MachineClocks? = nil) throws {
    try self.init(url: url, clocks: clocks, isMoving: false)
  }

  /// - Parameters:
  ///   - isMoving: also opens a database that is being or was moved, and then does not change it.
  ///   - mayChangeForm: migrates its tables. Otherwise an older form is refused.
  ///   - patience: the longest time that an operation waits for its turn.
  init(
    url: String, clocks: MachineClocks? = nil, isMoving: Bool, mayMigrate: Bool = true,
    patience: Duration = StoragePatience.usual
  ) throws {
    let time = PostgreSQLTime()
    self.time = time
    self.url = url
    do {
      let address = try PostgreSQLAddress(validating: url)
      let pool = PostgreSQLPool(address, time, patience: patience, load: load)
      self.pool = pool
      health = PostgreSQLHealth(address, time, load)
      nonceUses = NonceUseQueue(
        greatestTurns: PostgreSQLPool.nonceUseTurns, patience: patience, queue: load[.nonce])
      lease = try PostgreSQLHousekeeperLease()
      listener = PostgreSQLChangeListener(pool, time, lease)
      let (stored, mark, changes) = try pool.lend { connection in
        try pool.lend { try connection.requireOwnSession(beside: $0) }
        let mark = try MoveMark.stored(in: connection)
        if !isMoving, let refusal = mark?.refusal(of: url) { throw refusal }
        // All this comes before the first change. A database with another encoding can still be moved away.
        if !isMoving || mayMigrate { try PostgreSQLSchema.requireUnicode(connection, url) }
        if mark == nil, !mayMigrate, let refusal = try PostgreSQLSchema.state(of: connection).refusal(of: url) {
          throw refusal
        }
        let changes = mark == nil && mayMigrate ? try PostgreSQLSchema.migrate(connection) : []
        return (try StorageClock.stored(in: PostgreSQLTransaction(connection)), mark, changes)
      }
      self.changes = changes
      clock = StorageClock(clocks ?? time.clocks, stored: stored)
      if mark == nil, clock.isNews(to: stored) { try keepFirstTime(unlessAfter: stored) }
      if clock.isShared { time.follow(for: clock) }
    } catch let error as PostgreSQLError {
      throw StorageError(error, url)
    }
  }

  /// Stores the first time. Another server may have done it meanwhile, which is harmless.
  private func keepFirstTime(unlessAfter stored: StorageClock.Anchor?) throws {
    try pool.write(at: clock.now(), waitsForDisk: true) { [clock] db in
      guard try StorageClock.stored(in: db) == stored else { return }
      try clock.anchor.store(in: db)
    }
  }

  public func write<Value: Sendable>(
    _ work: @escaping @Sendable (PostgreSQLTransaction) throws -> Value
  ) async throws -> Value {
    try await write(waitsForDisk: true, nil, work)
  }

  /// A ``writeWithoutSync(_:)`` that also locks a table.
  ///
  /// - Parameter lock: the lock, which comes before the transaction's snapshot.
  func writeWithoutSync<Value: Sendable>(
    locking lock: StaticString, _ work: @escaping @Sendable (PostgreSQLTransaction) throws -> Value
  ) async throws -> Value {
    try await write(waitsForDisk: false, lock, work)
  }

  public func writeWithoutSync<Value: Sendable>(
    _ work: @escaping @Sendable (PostgreSQLTransaction) throws -> Value
  ) async throws -> Value {
    try await write(waitsForDisk: false, nil, work)
  }

  private func write<Value: Sendable>(
    waitsForDisk: Bool, _ lock: StaticString?, _ work: @escaping @Sendable (PostgreSQLTransaction) throws -> Value
  ) async throws -> Value {
    let note = AuditNote.current
    let lease = HousekeeperDuty.isOn ? lease : nil
    // A client that goes away must not cancel a running operation.
    return try await Task.detached { [pool, alarm, clock] in
      try await pool.inThread(.writing) { pool in
        let written = try pool.write(at: clock.now(), waitsForDisk: waitsForDisk, lock, note) { db in
          try lease?.check(in: db)
          if let seen = note.act?.seen { try seen.check(seen.subject.state(in: db)) }
          return try work(db)
        }
        if written.hasChanged { alarm.wrote() }
        lease?.noteProgress()
        return written.value
      }
    }.value
  }

  /// Runs one statement in its own transaction.
  func commitAlone(_ kind: PostgreSQLPool.Kind, _ call: PostgreSQLCall) async throws -> [PostgreSQLRow] {
    try await Task.detached { [pool, alarm] in
      try await pool.inThread(kind) { pool in
        let rows = try pool.lend { try $0.run([call])[0] }
        alarm.wrote()
        return rows
      }
    }.value
  }

  public func read<Value: Sendable>(
    _ work: @escaping @Sendable (PostgreSQLTransaction) throws -> Value
  ) async throws -> Value {
    try await pool.inThread(.reading) { pool in
      try pool.again { connection in
        let db = PostgreSQLTransaction.view(connection)
        let value = try work(db)
        db.leave()
        return value
      }
    }
  }

  public func readOnce<Value: Sendable>(
    _ work: @escaping @Sendable (PostgreSQLTransaction) throws -> Value
  ) async throws -> Value {
    try await pool.inThread(.reading) { pool in try pool.again { try work(PostgreSQLTransaction($0)) } }
  }

  /// Service time: see ``StorageClock``.
  public func now() -> UnixTime { clock.now() }

  /// Closes all connections.
  public func close() {
    alarm.close()
    pool.closeAll()
    health.close()
  }
}

extension PostgreSQLPool {
  private static let greatestAttempts = 6

  /// The result of a write, and whether it made a change.
  struct Written<Value> {
    let value: Value
    let hasChanged: Bool
  }

  /// Runs `work` on a connection, and repeats it after a passing failure.
  func again<Value>(_ work: (PostgreSQLConnection) throws -> Value) throws -> Value {
    var isNew = false
    for _ in 1..<Self.greatestAttempts {
      do { return try lend(new: isNew, work) } catch let error as PostgreSQLError where error.isPassing {
        load.repeats.add()
        // A statement that was prepared before the tables changed would always be refused.
        isNew = error.code == .refused(sqlState: "0A000")
      }
    }
    return try lend(new: isNew, work)
  }

  /// See ``PostgreSQLStorage``.
  @discardableResult
  func write<Value>(
    at now: UnixTime, waitsForDisk: Bool, _ lock: StaticString? = nil, _ note: AuditNote = .none,
    _ work: (PostgreSQLTransaction) throws -> Value
  ) throws -> Written<Value> {
    for _ in 1...Self.greatestAttempts {
      let id = try RandomValue.identifier()
      var value: Value?
      do {
        return try again { connection in
          try write(id, at: now, Self.opening(waitsForDisk, lock, note), connection) { db in
            let done = try work(db)
            value = done
            return done
          }
        }
      } catch let error as PostgreSQLError where error.code == .commitUnanswered {
        // If it is not known whether it was committed, no reply may claim either.
        let wasCommitted: Bool
        do { wasCommitted = try lend(new: true) { try PostgreSQLCommits.has(id, at: now, in: $0) } } catch {
          throw PostgreSQLError(.commitUnanswered, detail: "\(error)")
        }
        if wasCommitted, let value { return Written(value: value, hasChanged: true) }
        load.repeats.add()
      }
    }
    throw PostgreSQLError(.commitUnanswered, detail: "no commit was answered")
  }

  private func write<Value>(
    _ id: String, at now: UnixTime, _ opening: [PostgreSQLCall], _ connection: PostgreSQLConnection,
    _ work: (PostgreSQLTransaction) throws -> Value
  ) throws -> Written<Value> {
    let db = PostgreSQLTransaction(connection, opening: opening, lock: load.lock)
    let value = try work(db)
    if db.hasChanged { try db.commit(after: PostgreSQLCommits.note(id, at: now)) } else { try db.end() }
    return Written(value: value, hasChanged: db.hasChanged)
  }

  private static func opening(
    _ waitsForDisk: Bool, _ lock: StaticString?, _ note: AuditNote
  ) -> [PostgreSQLCall] {
    var calls = [PostgreSQLCall("BEGIN ISOLATION LEVEL SERIALIZABLE")]
    if !waitsForDisk { calls.append(PostgreSQLCall("SET LOCAL synchronous_commit = off")) }
    // Neither takes a snapshot (PostgreSQL's manual, LOCK).
    calls.append(PostgreSQLCall("LOCK TABLE write_turn IN EXCLUSIVE MODE"))
    if let lock { calls.append(PostgreSQLCall(lock)) }
    // What follows takes a snapshot.
    if let call = note.call { calls.append(call) }
    // The last call of the opening: see ``PostgreSQLTransaction/init(_:opening:lock:)``.
    calls.append(
      PostgreSQLCall("SELECT (extract(epoch FROM clock_timestamp() - now()) * 1000000)::bigint AS waited"))
    return calls
  }
}
