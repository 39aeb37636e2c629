import Testing

@testable import HostSystem

/// `-n` of sudo and sudo-rs.
@Suite struct SudoOptionsTests {
  private func asksNothing(_ line: String) -> Bool {
    SudoOptions.askNothing(Array(line.split(separator: " ").map { "\($0)\0" }.joined().utf8))
  }

  @Test(arguments: [
    "sudo -n true", "sudo --non-interactive true", "sudo --non true", "sudo -kn true", "sudo -nv", "sudo -u bob -n id",
    "sudo -ubob -n id", "sudo --user bob -n id", "sudo --user=bob -n id", "sudo A=b -n id", "sudo -p -n -n id",
    "sudo -h -n id", "sudo-rs -Hn id",
  ])
  func nothingIsAsked(_ line: String) { #expect(asksNothing(line)) }

  @Test(arguments: [
    "sudo", "sudo id -n", "sudo -- -n", "sudo -u -n id", "sudo -pn id", "sudo -hn id", "sudo --prompt -n id",
    "sudo --no-update id", "sudo --n id", "sudo - -n", "sudo =b -n", "-n id", "sudo -v",
  ])
  func aUserMayBeAsked(_ line: String) { #expect(!asksNothing(line)) }

  @Test func anEmptyArgumentIsTheCommand() {
    #expect(!SudoOptions.askNothing(Array("sudo\0\0-n\0".utf8)))
    #expect(!SudoOptions.askNothing([]))
  }
}
