import ArgumentParser
import CommandSupport
import Glibc
import IAMPASSServer

struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a copy of everything that the service knows to a new file.",
    discussion: "The service may be running. The file is for its owner alone; it has every secret of the service.")

  @Argument(help: "The new file; nothing is overwritten.", completion: .file())
  var file: String

  @Option(
    help: ArgumentHelp("The service's data directory (default for root: the packaged service's).", valueName: "dir"),
    completion: .directory)
  var data: String?

  /// For the refusal, which says what copies such a database.
  @Option(help: .hidden) var database: String?

  func validate() throws {
    guard data != nil || database != nil || PackagedDatabase.isHere else { throw ValidationError("--data is missing") }
  }

  func run() async throws {
    try await explaining {
      guard database == nil else { throw CommandProblem.backedUpByPostgreSQL }
      guard case .folder(let folder) = try data.map(PackagedDatabase.folder) ?? PackagedDatabase.find() else {
        throw CommandProblem.backedUpElsewhere
      }
      if let owner = ActingUser.other(ownerOf: folder) {
        return try OwnersCopy.write(folder, to: file, keptFrom: owner)
      }
      // Nobody changes here: the folder is this user's, and its path is looked at.
      try ActingUser.become(ownerOf: folder)
      let storage = try SQLiteStorage(existing: folder)
      try await storage.backUp(to: file)
      do { try await storage.noteBackup() } catch {
        // The copy is whole: on a full disk it may be needed most.
        Notice.tell(Self.notNoted(error))
      }
    }
  }

  static func notNoted(_ error: any Error) -> String { "the copy is made, but the audit does not say so: \(error)" }
}

extension CommandProblem {
  fileprivate static let backedUpElsewhere = CommandProblem(
    message: "the packaged service keeps its data in PostgreSQL, and this command copies a data directory",
    hint: postgreSQLTools, exitCode: EX_CONFIG)

  fileprivate static let backedUpByPostgreSQL = CommandProblem(
    message: "this command copies a data directory, and not a PostgreSQL database", hint: postgreSQLTools,
    exitCode: EX_USAGE)

  private static let postgreSQLTools = "use PostgreSQL's own tools, such as pg_dump"
}
