import GRDB
import Glibc
import IAMPASSProtocol

/// Why the data directory cannot be used.
public struct StorageError: Error, Sendable {
  public enum Code: Sendable {
    case folderNotMade
    case folderWritableByOthers
    case databaseNotOpened
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
/// A commit is in the write-ahead log before a reply leaves, so that `kill -9` loses nothing that was said. Several
/// processes may work on one directory: `application create` beside a running service.
public struct Storage: Sendable {
  /// How long a write waits for another process, in seconds.
  private static let busyTime = 5.0
  private static let fileName = "iampass.sqlite"

  private let pool: DatabasePool

  /// Opens the database that a service already has in `folder`.
  public init(existing folder: String) throws {
    let path = folder + "/" + Storage.fileName
    guard access(path, F_OK) == 0 else { throw StorageError(.noDatabase, path: path) }
    try self.init(folder: folder)
  }

  /// Opens the database in `folder`, making both where they are missing (0700 and 0600), and brings it up to date.
  public init(folder: String) throws {
    try Storage.prepareFolder(folder)
    let path = folder + "/" + Storage.fileName
    try Storage.prepareFile(path)
    var configuration = Configuration()
    configuration.busyMode = .timeout(Storage.busyTime)
    configuration.label = "iampass"
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
      try Schema.migrator.migrate(pool)
    } catch {
      throw StorageError(.databaseNotOpened, path: path, detail: "\(error)")
    }
  }

  /// One transaction, on disk when this returns.
  func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    // A client that goes away must not undo what is half done: GRDB would end the transaction of a cancelled task.
    try await Task.detached { [pool] in try await pool.write(work) }.value
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

  /// Two decimal digits, each pair as likely as any other.
  static func matchCode() throws(StorageError) -> Secret {
    while true {
      guard let byte = Digest.randomBytes(1)?.first else { throw StorageError(.noRandomBytes) }
      // 256 is no multiple of 100: without this the lower codes would come more often.
      if byte < 200 { return Secret(String(100 + Int(byte) % 100).suffix(2).description) }
    }
  }

  /// 24 bytes as 32 base64 characters: a secret for both signing schemes.
  static func secret() throws(StorageError) -> Secret {
    guard let bytes = Digest.randomBytes(24) else { throw StorageError(.noRandomBytes) }
    return Secret(Base64.encode(bytes))
  }
}
