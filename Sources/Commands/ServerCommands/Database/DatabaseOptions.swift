import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

/// Which database a command works on: a directory's, or PostgreSQL's; for root, the packaged service's if neither is
/// given.
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

  /// The database of a service.
  func existing() throws -> any OperatorStore {
    if let database { return try PostgreSQLStorage(url: database) }
    let folder: String
    switch try data.map(PackagedDatabase.folder) ?? PackagedDatabase.find() {
    case .folder(let path): folder = path
    case .postgreSQL(let url, let passwordFile):
      // As the service: its database and the file with the password may know that user alone.
      try ActingUser.become(ownerOf: PackagedDatabase.usualFolder)
      if let passwordFile { setenv("PGPASSFILE", passwordFile, 0) }
      return try PostgreSQLStorage(url: url)
    }
    try ActingUser.become(ownerOf: folder)
    return try SQLiteStorage(existing: folder)
  }

  /// The same, or a new one in a directory that was given and has none; the operator is told so.
  func openedOrMade() throws -> any OperatorStore {
    guard let data else { return try existing() }
    try ActingUser.become(ownerOf: data)
    // What is wrong with it, the storage says.
    let isNew = (try? SQLiteStorage.isThere(in: data)) == false
    let storage = try SQLiteStorage(folder: data)
    // A mistyped directory would be one more service, which nothing asks.
    if isNew { Notice.tell("there was no database in \(data): made a new one") }
    return storage
  }
}
