import GRDB
import Glibc
import IAMPASSProtocol

/// ``ServiceStorage`` in one SQLite file.
///
/// A commit is in the write-ahead log, and on the disk, before a reply is sent: neither `kill -9` nor a power cut
/// undoes a confirmed change. Several processes may use one folder, such as `application create` beside a running
/// service.
///
/// An operation without a turn within 2 s is refused before it begins. Reads, writes, nonces and health checks have
/// separate turns: see ``SQLitePlaces``.
public struct SQLiteStorage: Sendable {
  /// How long a write waits for another process, in seconds. Including its turn, it waits at most twice as long.
  private static let busyTime = 5.0
  /// How long opening the database waits for another process, in seconds.
  private static let openingTime = 30.0
  static let fileName = "iampass.sqlite"

  let pool: DatabasePool
  private let lock = LockWatch()
  private let syncing = Syncing()
  let load: StorageLoad
  let nonceUses: NonceUseQueue
  let places: SQLitePlaces
  let health: SQLiteHealth
  let sessionKeys = Remembered<SessionKeys>()
  let startGuesses = Remembered<StartGuess>()
  let sessions = KnownSessions()
  /// Decides which of its failures are logged.
  let alarm = StorageAlarm()
  public let clock: StorageClock
  /// The keys of the database's sealed secrets.
  public var sealKeys: SealKeys?
  /// The names of the migrations that were done at this opening.
  let changes: [String]

  /// Opens an existing database in `folder`, if it has this program's form.
  public init(existing folder: String, clocks: MachineClocks = .system) throws {
    try self.init(existing: folder, clocks: clocks, mayMigrate: false)
  }

  /// - Parameters:
  ///   - isMoving: also opens a database that is being or was moved.
  ///   - mayChangeForm: migrates it. By default an older form is refused.
  init(
    existing folder: String, clocks: MachineClocks = .system, isMoving: Bool = false, mayMigrate: Bool = false
  ) throws {
    guard try SQLiteStorage.isThere(in: folder) else {
      throw StorageError(.noDatabase, path: folder + "/" + SQLiteStorage.fileName)
    }
    try self.init(folder: folder, clocks: clocks, isMoving: isMoving, mayMigrate: mayMigrate)
  }

  /// Whether `folder` has a database. Throws if that cannot be read.
  public static func isThere(in folder: String) throws(StorageError) -> Bool {
    let path = folder + "/" + fileName
    guard access(path, F_OK) != 0 else { return true }
    guard errno == ENOENT || errno == ENOTDIR else {
      throw StorageError(.databaseNotOpened, path: path, detail: String(cString: strerror(errno)))
    }
    return false
  }

  /// Opens and migrates the database in `folder`. Makes the folder (0700) and the database (0600) if they are missing.
  ///
  /// - Parameter clocks: the computer's clocks. Tests give others.
  public init(folder: String, clocks: MachineClocks = .system) throws {
    try self.init(folder: folder, clocks: clocks, isMoving: false)
  }

  /// - Parameters:
  ///   - isMoving: also opens a database that is being or was moved, and then does not change it.
  ///   - patience: the longest time that an operation waits for its turn.
  init(
    folder: String, clocks: MachineClocks = .system, isMoving: Bool, mayMigrate: Bool = true,
    patience: Duration = StoragePatience.file
  ) throws {
    let load = StorageLoad([.read, .write, .nonce], hasLock: false)
    self.load = load
    // A turn waits for GRDB's one writer.
    nonceUses = NonceUseQueue(greatestTurns: 1, patience: patience, mayWaitInTurn: true, queue: load[.nonce])
    places = SQLitePlaces(patience: patience, load: load)
    try SQLiteStorage.prepareFolder(folder)
    let path = folder + "/" + SQLiteStorage.fileName
    try SQLiteStorage.prepareFile(path)
    health = SQLiteHealth(path, busyTime: SQLiteStorage.busyTime)
    var configuration = Configuration()
    configuration.maximumReaderCount = SQLitePlaces.reads
    configuration.busyMode = .timeout(SQLiteStorage.busyTime)
    configuration.label = "iampass"
    // SQLite then checks more of each page, so that a damaged one is noticed.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cell_size_check = ON") }
    do {
      pool = try SQLiteStorage.opened(path, configuration)
      let mark = try pool.read(MoveMark.stored)
      if !isMoving, let refusal = mark?.refusal(of: folder) { throw refusal }
      // All this comes before the first change.
      try pool.read { try Schema.refuseNewer($0, path) }
      if mark == nil, !mayMigrate, let refusal = try pool.read(Schema.state).refusal(of: path) { throw refusal }
      changes = mark == nil && mayMigrate ? try Schema.bringUpToDate(pool) : []
      clock =
        try mark == nil
        ? StorageClock(clocks, keptIn: pool) : StorageClock(clocks, stored: pool.read(StorageClock.stored))
    } catch let error as StorageError {
      throw error
    } catch  where StorageTrouble(error) == .damaged {
      throw StorageError(.databaseDamaged, path: path, detail: "\(error)")
    } catch {
      throw StorageError(.databaseNotOpened, path: path, detail: "\(error)")
    }
  }

  /// Opens the database. Another process may be making the tables, and leave no turn within ``busyTime``.
  private static func opened(_ path: String, _ configuration: Configuration) throws -> DatabasePool {
    let end = ContinuousClock.now + .seconds(openingTime)
    while true {
      do {
        return try DatabasePool(path: path, configuration: configuration)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && ContinuousClock.now < end {
        // SQLite may return this error at once, without a wait.
        usleep(50_000)
      }
    }
  }

  public func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await write(.full, changing: { _ in nil }, work)
  }

  public func write<Value: Sendable>(
    changing changed: @escaping @Sendable (Value) -> [String]?,
    _ work: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try await write(.full, changing: changed, work)
  }

  /// Runs `work` in one transaction that `kill -9` does not undo. The next ``write(_:)`` brings the whole log to the
  /// disk.
  public func writeWithoutSync<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws
    -> Value
  {
    try await write(.normal, changing: { _ in nil }, work)
  }

  private func write<Value: Sendable>(
    _ mode: Syncing.Mode, changing changed: @escaping @Sendable (Value) -> [String]?,
    _ work: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    let arrival = ContinuousClock.now
    let note = AuditNote.current
    let isPatient = StoragePatience.isEndless
    // A client that goes away must not cancel a running operation: GRDB would end the transaction of a cancelled task.
    return try await Task.detached {
      try await places.write(isPatient: isPatient) { wait in
        try await pool.writeWithoutTransaction { db in
          wait.end()
          if hasWaitedEnough(since: arrival) {
            load[.write].refused.add()
            throw DatabaseError(resultCode: .SQLITE_BUSY)
          }
          // Whatever fails leaves no copy.
          var forgotten: [String]?
          defer { sessions.forget(forgotten) }
          let value = try transact(mode, in: db) { try note.does(work, in: $0) }
          forgotten = changed(value)
          return value
        }
      }
    }.value
  }

  /// Whether an operation that arrived then has waited long enough for another process. If each waited its whole time
  /// in turn, the last one would wait for minutes.
  func hasWaitedEnough(since arrival: ContinuousClock.Instant) -> Bool {
    lock.hasOutlasted(arrival, by: .seconds(SQLiteStorage.busyTime))
  }

  /// Runs `work` in one transaction, on the connection that writes.
  func transact<Value>(
    _ mode: Syncing.Mode, in db: Database, _ work: (Database) throws -> Value
  ) throws -> Value {
    // The storage was closed while this waited. SQLite itself would read through a null pointer.
    guard db.sqliteConnection != nil else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
    try syncing.become(mode, of: db)
    let changes = db.totalChangesCount
    let value = try lock.watching { try db.transaction(work) }
    if db.totalChangesCount != changes { alarm.wrote() }
    return value
  }

  /// Copies all committed data into an empty file. Writers do not wait.
  func copyAll(to path: String) async throws {
    try await pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
  }

  public func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await places.read(isPatient: StoragePatience.isEndless) { wait in
      try await pool.read { db in
        wait.end()
        return try work(db)
      }
    }
  }

  public func readOnce<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await read(work)
  }

  /// Service time: see ``StorageClock``.
  public func now() -> UnixTime { clock.now() }

  /// Closes the files. The storage cannot be used afterwards.
  public func close() throws {
    alarm.close()
    try health.close()
    try pool.close()
  }

  private static func prepareFolder(_ path: String) throws(StorageError) {
    if mkdir(path, 0o700) == 0 { return }
    guard errno == EEXIST else {
      throw StorageError(.folderNotMade, path: path, detail: String(cString: strerror(errno)))
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw StorageError(.folderNotMade, path: path, detail: String(cString: strerror(ENOTDIR)))
    }
    // SQLite follows what the owner leaves there, and new files would not be the owner's.
    guard status.st_uid == geteuid() else { throw StorageError(.folderOfAnother, path: path) }
    guard status.st_mode & 0o022 == 0 else { throw StorageError(.folderWritableByOthers, path: path) }
  }

  /// Makes the file with the right mode, which SQLite also gives to its log files.
  private static func prepareFile(_ path: String) throws(StorageError) {
    let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw StorageError(.databaseNotOpened, path: path, detail: String(cString: strerror(errno)))
    }
    // The umask may have been wider, or the file older.
    fchmod(descriptor, 0o600)
    Glibc.close(descriptor)
  }
}

extension Database {
  fileprivate func transaction<Value>(_ work: (Database) throws -> Value) throws -> Value {
    var value: Value?
    try inTransaction {
      value = try work(self)
      return .commit
    }
    guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
    return value
  }
}
