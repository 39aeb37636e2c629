import PhoneCommands

PhoneCommand.main()
