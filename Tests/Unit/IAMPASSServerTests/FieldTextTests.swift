import Testing

@testable import IAMPASSServer

@Suite struct FieldTextTests {
  @Test(arguments: ["sudo", "192.0.2.7", "pts/1", "it's", "Müller"])
  func aPlainWordIsLeftAsItIs(_ value: String) { #expect(FieldText.quoted(value) == value) }

  @Test(arguments: [
    ("", "\"\""), ("a b", #""a b""#), ("a=b", #""a=b""#), (#"a"b"#, #""a\"b""#), (#"a\b"#, #""a\\b""#),
    ("\\\"", "\"\\\\\\\"\""), (#"a" b="c"#, #""a\" b=\"c""#),
  ])
  func whatCouldEndTheValueIsInQuotes(_ value: String, _ told: String) { #expect(FieldText.quoted(value) == told) }

  @Test(arguments: [
    ("a\u{A0}b", "\"a\u{A0}b\""), ("a\u{3000}b", "\"a\u{3000}b\""), ("a=\u{301}b", "\"a=\u{301}b\""),
    ("a\"\u{301}b", "\"a\\\"\u{301}b\""),
  ])
  func whatOnlyLooksLikeItToo(_ value: String, _ told: String) {
    #expect(Array(FieldText.quoted(value).unicodeScalars) == Array(told.unicodeScalars))
  }

  @Test func aValueIsOneLineAndCut() {
    #expect(FieldText.quoted("a\nb") == "a?b")
    #expect(FieldText.quoted("abc", limit: 2) == "ab")
  }
}
