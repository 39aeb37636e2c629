import IAMPASSControl

ControlCommand.main()
