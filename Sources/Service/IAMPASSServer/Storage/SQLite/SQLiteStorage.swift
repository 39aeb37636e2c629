import GRDB
import Glibc
import IAMPASSProtocol

/// ``ServiceStorage`` in one SQLite file.
///
/// A commit is in the write-ahead log, and that on the disk, before a reply leaves: neither `kill -9` nor a power cut
/// undoes what was said. Several processes may work on one directory: `application create` beside a running service.
public struct SQLiteStorage: Sendable {
  /// How long a write waits for another process, in seconds; with its turn among others it waits twice as long at most.
  private static let busyTime = 5.0
  /// How long an opening waits for another process, in seconds.
  private static let openingTime = 30.0
  static let fileName = "iampass.sqlite"

  let pool: DatabasePool
  private let lock = LockWatch()
  private let syncing = Syncing()
  let load: StorageLoad
  let spendings: WaitingSpendings
  let sessionKeys = KnownSessionKeys()
  let sessions = KnownSessions()
  /// What is to be told of its failures.
  let alarm = StorageAlarm()
  public let clock: StorageClock
  /// The names of the migrations that this opening has brought.
  let changes: [String]

  /// Opens the database that a service already has in `folder`, if its form is this program's.
  public init(existing folder: String, clocks: MachineClocks = .system) throws {
    try self.init(existing: folder, clocks: clocks, mayChangeForm: false)
  }

  /// - Parameters:
  ///   - isMoving: opens also a database that is being moved, or was.
  ///   - mayChangeForm: brings it up to date. By default an older form is refused.
  init(
    existing folder: String, clocks: MachineClocks = .system, isMoving: Bool = false, mayChangeForm: Bool = false
  ) throws {
    guard try SQLiteStorage.isThere(in: folder) else {
      throw StorageError(.noDatabase, path: folder + "/" + SQLiteStorage.fileName)
    }
    try self.init(folder: folder, clocks: clocks, isMoving: isMoving, mayChangeForm: mayChangeForm)
  }

  /// Whether `folder` has a database. Throws: where that cannot be seen.
  public static func isThere(in folder: String) throws(StorageError) -> Bool {
    let path = folder + "/" + fileName
    guard access(path, F_OK) != 0 else { return true }
    guard errno == ENOENT || errno == ENOTDIR else {
      throw StorageError(.databaseNotOpened, path: path, detail: String(cString: strerror(errno)))
    }
    return false
  }

  /// Opens the database in `folder`, making both where they are missing (0700 and 0600), and brings it up to date.
  ///
  /// - Parameter clocks: the machine's; others in tests.
  public init(folder: String, clocks: MachineClocks = .system) throws {
    try self.init(folder: folder, clocks: clocks, isMoving: false)
  }

  /// - Parameter isMoving: opens also a database that is being moved, or was, and then changes nothing in it.
  init(folder: String, clocks: MachineClocks = .system, isMoving: Bool, mayChangeForm: Bool = true) throws {
    let load = StorageLoad([.read, .write, .nonce], hasLock: false)
    self.load = load
    spendings = WaitingSpendings(greatestTurns: 1, queue: load[.nonce])
    try SQLiteStorage.prepareFolder(folder)
    let path = folder + "/" + SQLiteStorage.fileName
    try SQLiteStorage.prepareFile(path)
    var configuration = Configuration()
    configuration.busyMode = .timeout(SQLiteStorage.busyTime)
    configuration.label = "iampass"
    // This trusts as little of a damaged page as possible.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cell_size_check = ON") }
    do {
      pool = try SQLiteStorage.opened(path, configuration)
      let mark = try pool.read(MoveMark.stored)
      if !isMoving, let refusal = mark?.refusal(of: folder) { throw refusal }
      // All this comes before the first change.
      try pool.read { try Schema.refuseNewer($0, path) }
      if mark == nil, !mayChangeForm, let refusal = try pool.read(Schema.form).refusal(of: path) { throw refusal }
      changes = mark == nil && mayChangeForm ? try Schema.bringUpToDate(pool) : []
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

  /// Another process may be making the tables. Its transactions follow each other so closely that ``busyTime`` can pass
  /// without a turn.
  private static func opened(_ path: String, _ configuration: Configuration) throws -> DatabasePool {
    let end = ContinuousClock.now + .seconds(openingTime)
    while true {
      do {
        return try DatabasePool(path: path, configuration: configuration)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && ContinuousClock.now < end {
        // SQLite may say so at once, without having waited.
        usleep(50_000)
      }
    }
  }

  public func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await write(.full, work)
  }

  /// `kill -9` does not undo it. The next ``write(_:)`` brings the whole log to the disk.
  public func note<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await write(.normal, work)
  }

  private func write<Value: Sendable>(
    _ mode: Syncing.Mode, _ work: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    let arrival = ContinuousClock.now
    let note = AuditNote.current
    // A client that goes away must not undo what is half done: GRDB would end the transaction of a cancelled task.
    return try await Task.detached {
      let wait = load[.write].begin()
      defer { wait.end() }
      return try await pool.writeWithoutTransaction { db in
        wait.end()
        if hasWaitedEnough(since: arrival) {
          load[.write].refused.add()
          throw DatabaseError(resultCode: .SQLITE_BUSY)
        }
        sessions.forgetAll()
        return try transact(mode, in: db) { try note.does(work, in: $0) }
      }
    }.value
  }

  /// Whether what arrived then has waited its time for another process. In turn each would wait its whole time, and the
  /// last one for minutes.
  func hasWaitedEnough(since arrival: ContinuousClock.Instant) -> Bool {
    lock.hasOutlasted(arrival, by: .seconds(SQLiteStorage.busyTime))
  }

  /// One transaction, on the connection that writes.
  func transact<Value>(
    _ mode: Syncing.Mode, in db: Database, _ work: (Database) throws -> Value
  ) throws -> Value {
    // What waited while the storage was closed: SQLite itself would read through a null pointer.
    guard db.sqliteConnection != nil else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
    try syncing.become(mode, of: db)
    let changes = db.totalChangesCount
    let value = try lock.watching { try db.transaction(work) }
    if db.totalChangesCount != changes { alarm.wrote() }
    return value
  }

  /// Copies all that is committed into an empty file; writers are not kept waiting.
  func copyAll(to path: String) async throws {
    try await pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
  }

  public func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    let wait = load[.read].begin()
    defer { wait.end() }
    return try await pool.read { db in
      wait.end()
      return try work(db)
    }
  }

  public func glance<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await read(work)
  }

  /// Service time: see ``StorageClock``.
  public func now() -> UnixTime { clock.now() }

  /// Closes the files; nothing works afterwards.
  public func close() throws { try pool.close() }

  private static func prepareFolder(_ path: String) throws(StorageError) {
    if mkdir(path, 0o700) == 0 { return }
    guard errno == EEXIST else {
      throw StorageError(.folderNotMade, path: path, detail: String(cString: strerror(errno)))
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw StorageError(.folderNotMade, path: path, detail: String(cString: strerror(ENOTDIR)))
    }
    guard status.st_mode & 0o022 == 0 else { throw StorageError(.folderWritableByOthers, path: path) }
  }

  /// SQLite gives its log files the mode of the database.
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
