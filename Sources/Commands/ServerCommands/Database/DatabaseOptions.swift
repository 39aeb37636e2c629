import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

/// The database that a command uses: that of a data folder, or PostgreSQL. For root it is the packaged service's if
/// neither is given.
struct DatabaseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The service's data directory (default for root: the packaged service's).", valueName: "dir"),
    completion: .directory)
  var data: String?

  @Option(help: ArgumentHelp("A PostgreSQL database instead: postgresql://…, without a password.", valueName: "url"))
  var database: String?

  func validate() throws {
    let given = [data, database].compactMap(\.self).count
    guard given == 1 || given == 0 && PackagedDatabase.isHere else {
      throw ValidationError("give one of --data and --database")
    }
  }

  /// As they were given, for another command.
  var words: [String] {
    if let data { return ["--data", data] }
    return database.map { ["--database", $0] } ?? []
  }

  /// Whether it is the packaged service's.
  ///
  /// - Throws: if the unit's database is not known.
  var isPackaged: Bool {
    get throws(CommandProblem) {
      guard PackagedDatabase.isHere, ServiceUnit.isThere else { return false }
      if data == nil, database == nil { return true }
      switch try PackagedDatabase.find() {
      case .folder(let path): return data == path
      case .postgreSQL(let url, _): return database == url
      }
    }
  }

  /// The database of a service, if its form is this program's.
  func existing() throws -> any OperatorStore {
    switch try found() {
    case .folder(let path): try Self.onceMade { try SQLiteStorage(existing: path) }
    case .postgreSQL(let url, _): try Self.onceMade { try PostgreSQLStorage(existing: url) }
    }
  }

  /// The same, with the keys of its sealed secrets. They may be root's file: it is read before this process becomes
  /// another user.
  func existing(_ seal: SealOptions) throws -> any OperatorStore { try existing(by: try seal.keys()) }

  func existing(by keys: SealKeys?) throws -> any OperatorStore {
    var storage = try existing()
    storage.sealKeys = keys
    return storage
  }

  /// Tries again for two seconds: a starting service may be making the tables just now.
  private static func onceMade<Storage>(_ open: () throws -> Storage) throws -> Storage {
    for _ in 0..<20 {
      do { return try open() } catch let error as StorageError {
        guard error.code == .databaseTooOld || error.code == .databaseForeign else { throw error }
        usleep(100_000)
      }
    }
    return try open()
  }

  /// Brings the database up to date.
  ///
  /// - Returns: the names of the changes.
  func migrated() throws -> [String] {
    switch try found() {
    case .folder(let path): try DatabaseMigration.run(folder: path)
    case .postgreSQL(let url, _): try DatabaseMigration.run(url: url)
    }
  }

  /// The database. From now on this process may use it.
  private func found() throws -> PackagedDatabase {
    if let database { return .postgreSQL(url: database, passwordFile: nil) }
    let place = try data.map(PackagedDatabase.folder) ?? PackagedDatabase.find()
    switch place {
    case .folder(let path): try ActingUser.become(ownerOf: path)
    case .postgreSQL(_, let passwordFile):
      // The process becomes the service's user: only that user may have access to the database and to the password
      // file.
      try ActingUser.become(ownerOf: PackagedDatabase.usualFolder)
      if let passwordFile { setenv("PGPASSFILE", passwordFile, 0) }
    }
    return place
  }

  /// The same, or a new database in a given folder without one. The operator gets a notice.
  func openedOrMade(_ seal: SealOptions) throws -> any OperatorStore {
    let keys = try seal.keys()
    guard let data else { return try existing(by: keys) }
    try ActingUser.become(ownerOf: data)
    guard try !SQLiteStorage.isThere(in: data) else { return try existing(by: keys) }
    let storage = try SQLiteStorage(folder: data)
    // A mistyped folder would be another service, which is not in use.
    Notice.tell("there was no database in \(data): made a new one")
    return storage
  }
}
