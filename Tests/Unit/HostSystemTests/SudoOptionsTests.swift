import Testing

@testable import HostSystem

/// sudo and sudo-rs have them.
@Suite struct SudoOptionsTests {
  private func options(_ line: String) -> SudoOptions {
    SudoOptions(arguments: Array(line.split(separator: " ").map { "\($0)\0" }.joined().utf8))
  }

  @Test(arguments: [
    "sudo -n true", "sudo --non-interactive true", "sudo --non true", "sudo -kn true", "sudo -nv", "sudo -u bob -n id",
    "sudo -ubob -n id", "sudo --user bob -n id", "sudo --user=bob -n id", "sudo A=b -n id", "sudo -p -n -n id",
    "sudo -h -n id", "sudo-rs -Hn id", "sudo -Sn id",
  ])
  func nothingIsAsked(_ line: String) { #expect(options(line).asksNothing) }

  @Test(arguments: [
    "sudo", "sudo id -n", "sudo -- -n", "sudo -u -n id", "sudo -pn id", "sudo -hn id", "sudo --prompt -n id",
    "sudo --no-update id", "sudo --n id", "sudo - -n", "sudo =b -n", "-n id", "sudo -v",
  ])
  func aUserMayBeAsked(_ line: String) { #expect(!options(line).asksNothing) }

  @Test(arguments: [
    "sudo -S id", "sudo -H -S -p key -u root sh -c x", "sudo -kS id", "sudo --stdin id", "sudo --st id",
    "sudo -u bob -S id", "sudo -ubob -S id", "sudo --user bob -S id", "sudo --user=bob -S id", "sudo A=1 -S id",
    "sudoedit -S file", "sudo -nS id",
  ])
  func aProgramAnswers(_ line: String) { #expect(options(line).readsStandardInput) }

  @Test(arguments: [
    "sudo", "sudo id", "sudo -u S id", "sudo -uS id", "sudo -p -S id", "sudo -- -S", "sudo id -S", "sudo -n id",
    "sudo --user -S id", "sudo sh -c -S", "sudo A=1 id -S", "sudo --s id",
  ])
  func theTerminalAnswers(_ line: String) { #expect(!options(line).readsStandardInput) }

  @Test func anEmptyArgumentIsTheCommand() {
    #expect(!SudoOptions(arguments: Array("sudo\0\0-n\0".utf8)).asksNothing)
    #expect(!SudoOptions(arguments: []).asksNothing)
  }
}
