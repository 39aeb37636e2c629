import Testing

@testable import HostSystem

/// A program's arguments as the phone shows them.
@Suite struct CommandLineTextTests {
  @Test(arguments: [
    ("sudo\0apt\0upgrade\0", "sudo apt upgrade"),
    // Two commands. The second has one argument less.
    ("sh\0-c\0apt upgrade\0", "sh -c 'apt upgrade'"), ("sh\0-c\0apt\0upgrade\0", "sh -c apt upgrade"),
    ("rm\0\0", "rm ''"), ("rm\0", "rm"), ("a\0it's\0", #"a 'it'\''s'"#), ("a\0'b c'\0", #"a ''\''b c'\'''"#),
    ("a\0b\u{A0}c\0", "a 'b\u{A0}c'"), ("a\0\\\0", #"a '\'"#), ("a\0;\0|\0", "a ; |"),
    // Callers choose the first word too.
    ("sudo apt-get upgrade\0bash\0", "'sudo apt-get upgrade' bash"),
    ("sudo apt-get upgrade\0\0bash\0", "'sudo apt-get upgrade' '' bash"),
    ("su -c reboot\0", "'su -c reboot'"), ("su -c 'a b'\0", #"'su -c '\''a b'\'''"#), ("su\t-l\0bob\0", "'su\t-l' bob"),
    ("\0bash\0", "'' bash"),
    // Some servers overwrite their arguments.
    ("sshd: alice [priv]\0\0\0\0", "'sshd: alice [priv]'"), ("sshd: alice [priv]", "'sshd: alice [priv]'"),
  ])
  func twoCommandsAreNeverShownAlike(_ arguments: String, _ text: String) {
    #expect(CommandLineText.text(of: Array(arguments.utf8)) == text)
  }

  @Test func theWholeLineIsRead() throws {
    let own = try #require(CommandLine.arguments.first)
    #expect(try #require(CommandLineText.ofThisProcess()).contains(own))
  }
}
