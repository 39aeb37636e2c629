import HelperProgram

HelperCommand.main()
