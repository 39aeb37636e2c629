import ServerCommands

@main
enum Program {
  static func main() async {
    ServerCommand.prepare()
    await ServerCommand.main()
  }
}
