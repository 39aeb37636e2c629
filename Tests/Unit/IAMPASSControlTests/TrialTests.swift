import Testing

@testable import IAMPASSControl

/// The units that end a trial, which systemd reads.
@Suite struct TrialTests {
  @Test func theServiceRunsTheWordsAndBeforeAnyoneCanSignIn() {
    let lines = Trial.service(["/usr/bin/iampassctl", "trial-end", "--config", "/etc/iampass/iampass.conf"])
      .split(separator: "\n")
    #expect(lines.contains("ExecStart=/usr/bin/iampassctl trial-end --config /etc/iampass/iampass.conf"))
    #expect(lines.contains("Before=systemd-user-sessions.service"))
    #expect(lines.contains("Restart=on-failure"))
  }

  @Test func theTimerRunsOnceAfterTheTime() {
    let lines = Trial.timer(600).split(separator: "\n")
    #expect(lines.contains("OnActiveSec=600"))
    #expect(!lines.contains { $0.hasPrefix("OnBoot") || $0.hasPrefix("OnUnit") || $0.hasPrefix("OnCalendar") })
  }

  /// systemd.service(5): a space parts words, `%` begins a specifier, `$` a variable, `;` another command.
  @Test func nothingThatSystemdReadsOtherwiseIsPlain() {
    for text in [" ", "%", "$", ";", "\"", "'", "\\", "\n", "\u{0}", "\u{e9}", "@", "=", "#"] {
      #expect(!text.utf8.allSatisfy(Trial.isPlain), "\(text.debugDescription)")
    }
    #expect("/etc/iampass-2/iampass_test.conf".utf8.allSatisfy(Trial.isPlain))
  }
}
