import ServerCommands

@main
enum Program {
  static func main() async { await ServerCommand.main() }
}
