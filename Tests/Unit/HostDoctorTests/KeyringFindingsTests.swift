import HostDoctor
import PAMStacks
import Testing

@Suite struct KeyringFindingsTests {
  private let shipped = """
    [success=2 maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so
    [success=1 default=ignore] pam_unix.so nullok try_first_pass
    requisite pam_deny.so
    required pam_permit.so
    """

  private func stack(_ more: String) throws -> StackJudgement {
    let text = (shipped + "\n" + more).split(separator: "\n").map { "auth \($0)" }.joined(separator: "\n")
    let reader = PAMReader(folder: "/p") { path in path == "/p/lightdm" ? Array(text.utf8) : nil }
    return StackJudgement(service: "lightdm", auth: try reader.stack("auth", of: "lightdm"), session: [])
  }

  private func findings(_ more: String, isListening: Bool = true) throws -> [Finding] {
    KeyringFindings(stacks: [try stack(more)], isListening: isListening).findings
  }

  @Test func theShippedLineBeforeTheKeyringsModuleIsWell() throws {
    let lines = "optional pam_cap.so\noptional pam_iampass.so keyring\noptional pam_gnome_keyring.so"
    #expect(try findings(lines).isEmpty)
    #expect(try stack(lines).findings().allSatisfy { !$0.text.contains("asks the phone 2 times") })
  }

  @Test(arguments: ["pam_unix.so use_first_pass", "pam_sss.so try_first_pass", "pam_something.so"])
  func aModuleBehindThatAsksForAPasswordIsAProblem(_ module: String) throws {
    let found = try findings("optional pam_iampass.so keyring\nrequired \(module)")
    #expect(found.map(\.level) == [.problem])
    #expect(found.first?.text.contains("would get the sealed password") == true)
  }

  @Test func aMissingLineOrSocketIsAWarning() throws {
    #expect(try findings("optional pam_gnome_keyring.so").map(\.level) == [.warning])
    #expect(try findings("optional pam_iampass.so keyring", isListening: false).map(\.level) == [.warning])
  }

  /// The line answers nothing about who somebody is.
  @Test func theLineAloneIsNotTheModule() throws {
    let reader = PAMReader(folder: "/p") { _ in Array("auth optional pam_iampass.so keyring".utf8) }
    let auth = try reader.stack("auth", of: "sudo")
    #expect(!StackJudgement(service: "sudo", auth: auth, session: []).hasModule)
  }

  /// It stands in every path, and must not count as the phone that some of them leave out.
  @Test func theLineDoesNotHideAPhoneThatCanBeSkipped() throws {
    func dangers(_ more: String) throws -> [String] {
      let text = """
        auth requisite pam_unix.so
        auth [success=1 default=ignore] pam_unix.so
        auth required pam_iampass.so
        auth required pam_permit.so
        \(more)
        """
      let reader = PAMReader(folder: "/p") { _ in Array(text.utf8) }
      let auth = try reader.stack("auth", of: "lightdm")
      return StackJudgement(service: "lightdm", auth: auth, session: []).findings().filter { $0.level == .problem }
        .map(\.text)
    }
    #expect(try dangers("auth optional pam_iampass.so keyring") == dangers(""))
  }
}
