import HostState
import Testing

/// What the helper says of itself, and what `iampassctl check` makes of it.
@Suite struct HelperStatusTests {
  @Test func aHelperThatWatchesIsWell() {
    let line = HelperStatus.line(watching: 3, lastAnswer: 2, complaint: "")
    #expect(line == "watching 3 sessions, last answer 2 s ago")
    #expect(HelperStatus.isWell(line) && HelperStatus.isWatching(line))
    #expect(HelperStatus.line(watching: 0, lastAnswer: nil, complaint: "") == "watching 0 sessions, no answer yet")
    #expect(HelperStatus.isWell(""))
  }

  @Test(arguments: ["/root/ca.pem: permission denied", ""])
  func aHelperWithoutAConfigurationIsNotWell(_ complaint: String) {
    let line = HelperStatus.line(watching: nil, lastAnswer: nil, complaint: complaint)
    #expect(line == (complaint.isEmpty ? "not set up" : complaint))
    #expect(!HelperStatus.isWell(line) && !HelperStatus.isWatching(line))
  }

  @Test func aHelperThatGoesByAFormerConfigurationSaysSo() {
    let line = HelperStatus.line(watching: 3, lastAnswer: 2, complaint: "/root/ca.pem: permission denied")
    #expect(line.hasPrefix("by the former configuration watching 3 sessions, last answer 2 s ago; "))
    #expect(line.hasSuffix(" is not usable: /root/ca.pem: permission denied"))
    #expect(!HelperStatus.isWell(line) && HelperStatus.isWatching(line))
  }
}
