import HostDoctor
import Testing

/// What is left by a command that was killed while it switched something off.
@Suite struct HalfSwitchedOffTests {
  private func found(
    profile: SecurityKeyProfile.Place? = nil, asksForKey: Bool = false, asksPhone: Bool = true,
    hasSSHDFile: Bool = false, opensPasswords: Bool = false
  ) -> [Finding] {
    HalfSwitchedOff(
      profile: profile, asksForKey: asksForKey, asksPhone: asksPhone, hasSSHDFile: hasSSHDFile,
      opensPasswords: opensPasswords
    ).findings
  }

  @Test func aSecondFactorWhoseLinesAreGoneIsAProblem() {
    let findings = found(profile: .second)
    #expect(findings.map(\.level) == [.problem])
    #expect(
      findings.first?.hint == "iampassctl enable --security-key-second, or iampassctl enable --no-security-key")
  }

  @Test func aKeyThatSignsInTooIsAWarning() {
    #expect(found(profile: .instead).map(\.level) == [.warning])
  }

  @Test func whatDisableHasBegunItFinishes() {
    let findings = found(profile: .second, asksPhone: false, hasSSHDFile: true)
    #expect(findings.map(\.hint) == ["iampassctl disable", "iampassctl disable"])
    #expect(findings.map(\.area) == [.pam, .sshd])
  }

  @Test func anSSHServerThatTakesPasswordsByOurFileAloneIsAProblem() {
    #expect(found(asksPhone: false, hasSSHDFile: true, opensPasswords: true).map(\.level) == [.problem])
    #expect(found(asksPhone: false, hasSSHDFile: true).map(\.level) == [.warning])
  }

  @Test func whatIsWhollyOnOrOffIsNot() {
    #expect(found(profile: .second, asksForKey: true, hasSSHDFile: true, opensPasswords: true).isEmpty)
    #expect(found(asksPhone: false, opensPasswords: true).isEmpty)
  }
}
