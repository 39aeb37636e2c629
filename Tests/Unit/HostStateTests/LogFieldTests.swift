import HostState
import Testing

@Suite struct LogFieldTests {
  @Test(arguments: [
    ("a b", "a?b"), ("a\tb", "a?b"), ("a\nb", "a?b"), ("a\u{2028}b", "a?b"), ("a\u{202E}b", "a?b"),
    ("a\u{A0}b\u{2003}c\u{3000}d", "a?b?c?d"),
    // The space is part of a Character that does not equal a space.
    ("a \u{301}b", "a?\u{301}b"), ("a\u{A0}\u{301}b", "a?\u{301}b"), ("a\u{600} b", "a\u{600}?b"),
  ])
  func noValueBeginsAnotherField(_ value: String, _ shown: String) {
    let field = LogField.text("rhost", value)
    #expect(Array(field.unicodeScalars) == Array("rhost=\(shown)".unicodeScalars))
  }

  @Test(arguments: [nil, ""])
  func aMissingValueIsADash(_ value: String?) {
    #expect(LogField.text("rhost", value) == "rhost=-")
  }

  @Test func anOrdinaryValueStaysAsItIs() {
    #expect(LogField.text("user", "ren\u{E9}") == "user=ren\u{E9}")
    #expect(LogField.text("rhost", "2001:db8::1%eth0") == "rhost=2001:db8::1%eth0")
  }

  @Test func everyFieldOfASignInIsEscaped() {
    #expect(
      LogField.signIn(user: "a b", service: "c d", remoteHost: "e f") == "user=a?b service=c?d rhost=e?f")
  }

  /// A name of thousands of characters must not push the remote host and the reason off the line.
  @Test func aLongValueIsCut() {
    #expect(LogField.text("user", String(repeating: "a", count: 5_000)).utf8.count < 300)
  }
}
