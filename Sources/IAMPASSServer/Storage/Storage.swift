import GRDB
import Glibc
import IAMPASSProtocol
import Synchronization

/// Why the data directory cannot be used.
public struct StorageError: Error, Sendable {
  public enum Code: Sendable {
    case folderNotMade
    case folderWritableByOthers
    case databaseNotOpened
    /// What is in it is not what SQLite wrote.
    case databaseDamaged
    /// There must be one already.
    case noDatabase
    case noRandomBytes
  }

  public let code: Code
  public let path: String
  /// What the system or SQLite said.
  public let detail: String

  init(_ code: Code, path: String = "", detail: String = "") {
    self.code = code
    self.path = path
    self.detail = detail
  }
}

/// The service's state in one SQLite file.
///
/// A commit is in the write-ahead log, and that on the disk, before a reply leaves: neither `kill -9` nor a power cut
/// undoes what was said. Several processes may work on one directory: `application create` beside a running service.
public struct Storage: Sendable {
  /// How long a write waits for another process, in seconds; with its turn among others it waits twice as long at most.
  private static let busyTime = 5.0
  private static let fileName = "iampass.sqlite"

  private let pool: DatabasePool
  private let lock = LockWatch()
  private let syncing = Syncing()
  /// What is to be told of its failures.
  let alarm = StorageAlarm()
  let clock: StorageClock

  /// Opens the database that a service already has in `folder`.
  public init(existing folder: String, clocks: MachineClocks = .system) throws {
    guard try Storage.isThere(in: folder) else {
      throw StorageError(.noDatabase, path: folder + "/" + Storage.fileName)
    }
    try self.init(folder: folder, clocks: clocks)
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
    try Storage.prepareFolder(folder)
    let path = folder + "/" + Storage.fileName
    try Storage.prepareFile(path)
    var configuration = Configuration()
    configuration.busyMode = .timeout(Storage.busyTime)
    configuration.label = "iampass"
    // Of a damaged page as little as can be is believed.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cell_size_check = ON") }
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
      try Schema.migrator.migrate(pool)
      clock = try StorageClock(clocks, keptIn: pool)
    } catch  where StorageTrouble(error) == .damaged {
      throw StorageError(.databaseDamaged, path: path, detail: "\(error)")
    } catch {
      throw StorageError(.databaseNotOpened, path: path, detail: "\(error)")
    }
  }

  /// Looks at every page of the database, which takes a second for some hundred megabytes.
  public func checkWhole() throws {
    do {
      let found = try pool.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") } ?? ""
      guard found == "ok" else {
        let line = found.split(separator: "\n").joined(separator: " ")
        throw StorageError(.databaseDamaged, path: pool.path, detail: line)
      }
    } catch  where StorageTrouble(error) == .damaged {
      throw StorageError(.databaseDamaged, path: pool.path, detail: "\(error)")
    }
  }

  /// One transaction, on the disk when this returns.
  func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await write(.full, work)
  }

  /// One transaction that `kill -9` does not undo, but a power cut may: until the next ``write(_:)``, which brings the
  /// whole log to the disk. For what means nothing without a change that follows it.
  func note<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await write(.normal, work)
  }

  private func write<Value: Sendable>(
    _ mode: Syncing.Mode, _ work: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    let arrival = ContinuousClock.now
    // A client that goes away must not undo what is half done: GRDB would end the transaction of a cancelled task.
    return try await Task.detached { [pool, lock, alarm, syncing] in
      try await pool.writeWithoutTransaction { db in
        // In turn each would wait its whole time for another process, and the last one for minutes.
        if lock.hasOutlasted(arrival, by: .seconds(Storage.busyTime)) { throw DatabaseError(resultCode: .SQLITE_BUSY) }
        try syncing.become(mode, of: db)
        let changes = db.totalChangesCount
        let value = try lock.watching { try db.transaction(work) }
        if db.totalChangesCount != changes { alarm.wrote() }
        return value
      }
    }.value
  }

  /// Copies all that is committed into an empty file; writers are not kept waiting.
  func copyAll(to path: String) async throws {
    try await pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
  }

  /// One consistent view.
  func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await pool.read(work)
  }

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

/// When a commit of the one connection that writes waits for the disk.
private final class Syncing: Sendable {
  /// SQLite's words. GRDB makes it NORMAL for a connection that writes ahead.
  enum Mode: String {
    case full = "FULL"
    case normal = "NORMAL"
  }

  private let current = Mutex<Mode?>(nil)

  func become(_ mode: Mode, of db: Database) throws {
    try current.withLock { current in
      guard current != mode else { return }
      try db.execute(sql: "PRAGMA synchronous = \(mode.rawValue)")
      current = mode
    }
  }
}

/// Whether another process holds the database, as far as the writes have found out.
private final class LockWatch: Sendable {
  private let lastFailure = Mutex<ContinuousClock.Instant?>(nil)

  func watching<Value>(_ work: () throws -> Value) throws -> Value {
    do {
      return try work()
    } catch  where StorageTrouble(error) == .locked {
      lastFailure.withLock { $0 = .now }
      throw error
    }
  }

  /// Whether a write has failed since `arrival`, and that is so long ago.
  func hasOutlasted(_ arrival: ContinuousClock.Instant, by time: Duration) -> Bool {
    guard let failure = lastFailure.withLock({ $0 }), failure >= arrival else { return false }
    return arrival.duration(to: .now) >= time
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

/// A row has another kind of value in a column than the table allows.
struct DamagedRow: Error {
  let column: String
}

extension Row {
  /// A column's value, or ``DamagedRow``: GRDB's subscripts would end the process, and its own error shows the whole row,
  /// secrets too.
  func get<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
    do { return try decode(forColumn: column) } catch { throw DamagedRow(column: column) }
  }

  func time(_ column: String) throws -> UnixTime? {
    try (get(column) as Int64?).map(UnixTime.init(milliseconds:))
  }
}

/// For what requests ask again and again: the statement stays prepared, since preparing costs more than running it.
extension Database {
  func firstRow(_ sql: String, _ arguments: StatementArguments) throws -> Row? {
    try Row.fetchOne(try cachedStatement(sql: sql), arguments: arguments)
  }

  func allRows(_ sql: String, _ arguments: StatementArguments) throws -> [Row] {
    try Row.fetchAll(try cachedStatement(sql: sql), arguments: arguments)
  }

  func run(_ sql: String, _ arguments: StatementArguments) throws {
    try cachedStatement(sql: sql).execute(arguments: arguments)
  }
}

/// Random values that the storage cannot do without.
enum Fresh {
  /// 128 bits as 32 hexadecimal digits.
  static func identifier() throws(StorageError) -> String {
    guard let identifier = Digest.randomIdentifier() else { throw StorageError(.noRandomBytes) }
    return identifier
  }

  static func bytes(_ count: Int) throws(StorageError) -> [UInt8] {
    guard let bytes = Digest.randomBytes(count) else { throw StorageError(.noRandomBytes) }
    return bytes
  }

  /// From 0, each as likely as any other.
  ///
  /// - Parameter bound: 1 to 256.
  static func number(below bound: Int) throws(StorageError) -> Int {
    while true {
      guard let byte = Digest.randomBytes(1)?.first else { throw StorageError(.noRandomBytes) }
      // Where 256 is no multiple of the bound, the lower numbers would come more often without this.
      if Int(byte) < 256 / bound * bound { return Int(byte) % bound }
    }
  }

  /// 24 bytes as 32 base64 characters: a secret for both signing schemes.
  static func secret() throws(StorageError) -> Secret {
    guard let bytes = Digest.randomBytes(24) else { throw StorageError(.noRandomBytes) }
    return Secret(Base64.encode(bytes))
  }
}
