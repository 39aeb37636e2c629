import ArgumentParser

struct UserCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Gives users a token at the service, takes it away, or lists them.",
    subcommands: [
      UserAdd.self, UserRemove.self, UserList.self, UserShow.self, UserUnblock.self, UserImport.self, UserExport.self,
    ])
}
