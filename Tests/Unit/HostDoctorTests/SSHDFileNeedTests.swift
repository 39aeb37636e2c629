import Testing

@testable import HostDoctor

/// With what sshd 9.2 and 10.0 print.
@Suite struct SSHDFileNeedTests {
  private static let folder = "/etc/ssh/sshd_config.d"
  private static let own = "\(folder)/00-iampass.conf"
  private static let others = ["\(folder)/10-x.conf", "\(folder)/20 y.conf"]
  private static let off = SSHDaemon.Answer.settings(SSHDSettings("usepam yes\nkbdinteractiveauthentication no\n"))
  private static let refused = SSHDaemon.Answer.failed(
    "Disabled method \"keyboard-interactive\" in AuthenticationMethods list \"publickey,keyboard-interactive\"\r\n"
      + "AuthenticationMethods cannot be satisfied by enabled authentication methods\r\n")

  private func reader(_ text: String, files: [String] = [own] + others, more: String = "") -> SSHDMatchReader {
    SSHDMatchReader(
      read: { path in
        switch path {
        case SSHDMatchReader.file: Array(text.utf8)
        case Self.others[0]: Array(more.utf8)
        default: []
        }
      },
      expand: { $0.hasSuffix("/*.conf") ? files : $0.hasSuffix("/gone*") ? nil : [$0] })
  }

  private func without(_ text: String, files: [String] = [own] + others) -> String? {
    reader(text, files: files).mainFile(without: Self.own).map { String(decoding: $0, as: UTF8.self) }
  }

  private func need(_ lines: String, _ answer: SSHDaemon.Answer) -> SSHDFileNeed? {
    SSHDFileNeed.judge(answer, reader("Include \(Self.folder)/*.conf\n", more: lines).look())
  }

  @Test func theFileAloneIsLeftOutInItsPlace() {
    #expect(
      without("Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes # why\nMatch all\n include=sshd_config.d/*.conf\n")
        == "Include \"\(Self.others[0])\" \"\(Self.others[1])\"\nUsePAM yes # why\nMatch all\n"
        + "Include \"\(Self.others[0])\" \"\(Self.others[1])\"\n")
  }

  @Test func whatDoesNotIncludeItStays() {
    let text = "Include /etc/ssh/a /etc/ssh/b\n#Include \(Self.own)\nUsePAM yes"
    #expect(without(text) == text)
    #expect(without("Include \(Self.folder)/*.conf\nUsePAM no\n", files: [Self.own]) == "\nUsePAM no\n")
  }

  @Test func withoutAllIncludedFilesNothingIsKnown() {
    #expect(without("Include /etc/ssh/gone*\n") == nil)
    #expect(SSHDMatchReader(read: { _ in nil }, expand: { [$0] }).mainFile(without: Self.own) == nil)
  }

  @Test func anSSHDThatWouldNotStartNeedsItAndTheLineIsNamed() throws {
    let found = try #require(need("AuthenticationMethods publickey,keyboard-interactive:pam\n", Self.refused))
    #expect(found.refusal?.hasPrefix("Disabled method ") == true)
    let end = "\"; AuthenticationMethods cannot be satisfied by enabled authentication methods"
    #expect(found.refusal?.hasSuffix(end) == true)
    #expect(found.lines == ["\(Self.others[0]):1: AuthenticationMethods publickey,keyboard-interactive:pam"])
  }

  @Test func anSSHDThatFailsForAnotherReasonNeedsItToo() {
    let failed = SSHDaemon.Answer.failed("/dev/stdin: line 3: Bad configuration option: x\r\n")
    #expect(
      need("UsePAM yes\n", failed)
        == SSHDFileNeed(refusal: "/etc/ssh/sshd_config: line 3: Bad configuration option: x", lines: []))
    #expect(need("", .failed("")) == SSHDFileNeed(refusal: "", lines: []))
  }

  /// sshd starts, and then refuses these users alone.
  @Test func aBlockThatWouldShutItsUsersOutNeedsIt() {
    let methods = "AuthenticationMethods publickey,keyboard-interactive password,keyboard-interactive"
    #expect(
      need("Match Group staff\n \(methods)\n", Self.off)
        == SSHDFileNeed(refusal: nil, lines: ["\(Self.others[0]):2: \(methods)"]))
  }

  @Test(arguments: [
    "", "AuthenticationMethods any\n", "AuthenticationMethods publickey publickey,keyboard-interactive\n",
    "AuthenticationMethods publickey,password\n",
    "Match User bob\nKbdInteractiveAuthentication yes\nAuthenticationMethods publickey,keyboard-interactive\n",
    "Match User bob\nAuthenticationMethods publickey,keyboard-interactive\nChallengeResponseAuthentication yes\n",
  ])
  func whatDoesNotRestOnItDoesNotKeepIt(_ lines: String) { #expect(need(lines, Self.off) == nil) }

  @Test func anSSHDThatAsksPAMWithoutItDoesNotNeedIt() {
    let on = SSHDaemon.Answer.settings(SSHDSettings("usepam yes\nkbdinteractiveauthentication yes\n"))
    #expect(need("AuthenticationMethods publickey,keyboard-interactive\n", on) == nil)
    #expect(need("AuthenticationMethods publickey,keyboard-interactive\n", .notInstalled) == nil)
  }
}
