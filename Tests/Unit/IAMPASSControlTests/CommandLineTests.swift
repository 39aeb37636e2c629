import ArgumentParser
import Testing

@testable import IAMPASSControl

/// What is refused before any file is read.
@Suite struct CommandLineTests {
  private func isTaken(_ words: String) -> Bool {
    (try? ControlCommand.parseAsRoot(words.split(separator: " ").map(String.init))) != nil
  }

  @Test(arguments: [
    "check", "check --json --config /etc/iampass/other.conf", "status", "status --json", "enable --trial 10m",
    "enable --services sudo,sshd --sshd",
    "user add alice bob", "user import users.txt --local", "session renew", "session end 0123abcd", "login-test alice",
    "phone list", "phone list --json alice", "phone trust alice", "phone forget alice --phone 01",
    "presence list --all --json", "presence use A4:C3:F0:11:22:33 --user alice", "presence remove A4:C3:F0:11:22:33",
    "presence test", "presence test A4:C3:F0:11:22:33 --count 3",
  ])
  func whatTheManualShowsIsTaken(words: String) { #expect(isTaken(words)) }

  @Test(arguments: [
    "check --config iampass.conf", "check --config /etc/iampass/", "enable --trial 59s", "enable --trial 25h",
    "enable --trial soon", "enable --services", "enable --services ,", "enable --services sudo,../shadow",
    "enable --services .sudo.swp", "nothing", "login-test", "user add", "session end",
    "phone trust", "phone forget", "phone trust alice bob", "phone list alice bob",
    "presence use A4:C3:F0:11:22:33", "presence use --user alice", "presence remove", "presence test --count 0",
  ])
  func whatCannotBeMeantIsRefused(words: String) { #expect(!isTaken(words)) }

  @Test func aServiceIsNamedOnceAndSudoBringsSudoI() {
    #expect(EnableCommand.names("sshd,sudo, login sshd") == ["sshd", "sudo", "sudo-i", "login"])
    #expect(EnableCommand.names("sudo-i,sudo") == ["sudo-i", "sudo"])
    for text in ["a/b", "..", ".hidden", "su\u{7f}", "sud\u{f6}"] {
      #expect(EnableCommand.names(text) == nil, "\(text)")
    }
  }

  @Test func helpNamesEachVerbButTheTimersOwn() throws {
    let help = ControlCommand.helpMessage()
    for command in ControlCommand.configuration.subcommands {
      let verb = try #require(command.configuration.commandName)
      #expect(help.contains("\n  \(verb)") == (verb != "trial-end"), "\(verb)")
    }
  }
}
