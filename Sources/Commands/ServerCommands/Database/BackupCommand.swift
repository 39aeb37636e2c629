import ArgumentParser
import IAMPASSServer

struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a copy of everything that the service knows to a new file.",
    discussion: "The service may be running. The file is for its owner alone; it has every secret of the service.")

  @Argument(help: "The new file; nothing is overwritten.", completion: .file())
  var file: String

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "dir"), completion: .directory)
  var data: String

  func run() async throws {
    try await explaining { try await SQLiteStorage(existing: data).backUp(to: file) }
  }
}
