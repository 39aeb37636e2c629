import HostDoctor
import Testing

@testable import IAMPASSControl

/// The file that makes sshd ask PAM: only this command's own is replaced or removed.
@Suite struct SSHDropInTests {
  /// As each version has written it.
  private static let text =
    "# Written by iampassctl enable, removed by iampassctl disable: the phone is asked through PAM.\n"
    + "UsePAM yes\nKbdInteractiveAuthentication yes\n"

  private func isOwn(_ text: String) -> Bool { SSHDropIn.isOwn(Array(text.utf8)) }

  @Test func whatWasWrittenIsItsOwn() { #expect(isOwn(Self.text)) }

  @Test(arguments: ["", "\n", " \n\n"]) func aFileWithoutTextIsNobodys(_ text: String) { #expect(isOwn(text)) }

  @Test(arguments: [
    Self.text + "X11Forwarding no\n", "X11Forwarding no\n" + Self.text, "#\n",
    "UsePAM yes\nKbdInteractiveAuthentication yes\n", Self.text.replacing("UsePAM yes\n", with: ""),
  ])
  func anAdministratorsLinesAreNot(_ text: String) { #expect(!isOwn(text)) }

  @Test func noPasswordsAreOpenedByTheNextCommand() {
    let off = "usepam yes\nkbdinteractiveauthentication no\n"
    func next(_ sshd: SSHDaemon.Answer) -> String { SSHDropIn.nextCommand(trial: "10m", sshd: sshd) }
    let (whole, withoutSSHD) = ("iampassctl enable --sshd --trial 10m", "iampassctl enable --trial 10m")
    #expect(next(.notInstalled) == whole)
    #expect(next(.settings(SSHDSettings(off + "passwordauthentication yes\n"))) == whole)
    #expect(next(.settings(SSHDSettings(off + "passwordauthentication no\n"))) == withoutSSHD)
    #expect(next(.failed("no")) == withoutSSHD)
  }
}
