import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

/// Which database a command works on: a directory's, or PostgreSQL's.
struct DatabaseOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The service's data directory.", valueName: "dir"), completion: .directory)
  var data: String?

  @Option(help: ArgumentHelp("A PostgreSQL database instead: postgresql://…, without a password.", valueName: "url"))
  var database: String?

  func validate() throws {
    guard (data == nil) != (database == nil) else { throw ValidationError("give one of --data and --database") }
  }

  /// The database of a service.
  func existing() throws -> any OperatorStore {
    if let database { return try PostgreSQLStorage(url: database) }
    try ActingUser.become(ownerOf: data ?? "")
    return try SQLiteStorage(existing: data ?? "")
  }

  /// The same, or a new one in a directory that has none; the operator is told so.
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
