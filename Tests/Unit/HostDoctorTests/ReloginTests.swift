import HostDoctor
import Testing

@Suite struct ReloginTests {
  private func finding(_ manager: ReloginFindings.Manager, _ texts: String...) -> Finding? {
    ReloginFindings.finding(
      manager, texts.enumerated().map { ReloginFindings.File(path: "/etc/\($0.offset)", text: Array($0.element.utf8)) })
  }

  @Test func anSDDMThatSignsInAgainAfterALogoutIsAWarning() {
    let found = finding(.sddm, "[Autologin]\nRelogin=true\nSession=plasma\nUser=alice\n")
    #expect(found?.level == .warning)
    let text = "/etc/0 has Relogin=true: after a logout alice is signed in again, without phone or password"
    #expect(found?.text == text)
    #expect(finding(.sddm, " [Autologin]\r\n User = alice # her\r\n\tRelogin = True\r\n")?.level == .warning)
  }

  @Test func aGDMThatSignsInByItselfIsAWarning() {
    #expect(finding(.gdm, "[daemon]\nTimedLoginEnable = true\nTimedLogin = alice\n")?.level == .warning)
    #expect(finding(.gdm, "[daemon]\nAutomaticLoginEnable = true\nAutomaticLogin = alice\n") == nil)
    #expect(finding(.gdm, "[daemon]\n#  TimedLoginEnable = true\n#  TimedLogin = user1\n") == nil)
    #expect(finding(.gdm, "[security]\nTimedLoginEnable=true\nTimedLogin=alice\n") == nil)
  }

  /// SDDM's own default, and a sign-in at the start alone, which a phone that leaves does not bring about.
  @Test(arguments: [
    "[Autologin]\nRelogin=false\nUser=\n", "[Autologin]\nUser=alice\n", "[Autologin]\nRelogin=true\nUser=\n",
    "[General]\nRelogin=true\nUser=alice\n", "#[Autologin]\n#Relogin=true\n#User=alice\n", "",
  ])
  func whoeverHasLoggedOutStaysOutOtherwise(_ text: String) {
    #expect(finding(.sddm, text) == nil)
  }

  @Test func aLaterFileCountsMore() {
    let on = "[Autologin]\nRelogin=true\nUser=alice\n"
    #expect(finding(.sddm, on, "[Autologin]\nRelogin=false\n") == nil)
    #expect(finding(.sddm, "[Autologin]\nRelogin=false\n", on)?.text.hasPrefix("/etc/1 has ") == true)
    #expect(finding(.sddm, on, "[Autologin]\nUser=\n") == nil)
  }
}
