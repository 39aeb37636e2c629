import ServerCommands

await ServerCommand.main()
