import Testing

@testable import IAMPASSProtocol

/// A reader who decides by a text sees all of it, and never sees one text as another.
@Suite struct DisplayTextTests {
  /// The phone's page must give the same pairs (Tests/System/Browser/test_words.py).
  @Test(arguments: [
    ("", "‹empty›"), (" ", "‹1 space›"), ("a b", "a b"), ("a  b", "a‹2 spaces›b"), (" a", "‹1 space›a"),
    ("a ", "a‹1 space›"), ("a   ", "a‹3 spaces›"), ("a\tb\n", "a‹tab›b‹newline›"),
    ("a\u{1B}[31m\u{9B}", "a‹U+001B›[31m‹U+009B›"), ("\u{7F}\u{2028}", "‹U+007F›‹U+2028›"),
    ("a\u{AD}b\u{34F}c", "a‹U+00AD›b‹U+034F›c"),
    ("\u{115F}\u{1160}\u{3164}\u{FFA0}", "‹U+115F›‹U+1160›‹U+3164›‹U+FFA0›"),
    ("\u{FE0F}\u{180B}\u{E0100}", "‹U+FE0F›‹U+180B›‹U+E0100›"),
    ("\u{200B}\u{200D}\u{2060}", "‹U+200B›‹U+200D›‹U+2060›"),
    ("\u{202E}\u{2066}\u{61C}\u{200F}", "‹U+202E›‹U+2066›‹U+061C›‹U+200F›"), ("\u{E0041}\u{FEFF}", "‹U+E0041›‹U+FEFF›"),
    ("a\u{A0}b\u{2003}c\u{3000}d", "a‹U+00A0›b‹U+2003›c‹U+3000›d"), ("\u{2800}\u{1D159}", "‹U+2800›‹U+1D159›"),
    ("\u{FFFD}\u{FFF9}\u{E000}\u{100000}", "‹U+FFFD›‹U+FFF9›‹U+E000›‹U+100000›"),
    ("‹190 spaces›", "‹U+2039›190 spaces›"), ("é א 山田 🦀 \\u{202e}", "é א 山田 🦀 \\u{202e}"),
  ])
  func whatIsNotSeenIsNamed(_ text: String, _ shown: String) {
    // Compares scalars: Swift's String treats different combining marks as equal.
    #expect(Array(DisplayText.escaped(text).unicodeScalars) == Array(shown.unicodeScalars))
  }

  @Test func noCodePointThatIsIgnoredOrTurnsTheTextIsLeftOut() {
    var passed: [String] = []
    for number in UInt32(0x80)...0x10FFFF {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let properties = scalar.properties
      guard properties.isDefaultIgnorableCodePoint || properties.isBidiControl || properties.isNoncharacterCodePoint
      else { continue }
      let text = String(scalar)
      if DisplayText.sanitized(text) != "?" || DisplayText.escaped(text).unicodeScalars.contains(scalar) {
        passed.append(String(number, radix: 16))
      }
    }
    #expect(passed.isEmpty)
  }

  @Test func allOfALongTextIsShown() {
    let text = "sudo sh -c 'apt upgrade" + String(repeating: " ", count: 190) + "; curl x|sh'"
    #expect(DisplayText.escaped(text) == "sudo sh -c 'apt upgrade‹190 spaces›; curl x|sh'")
    #expect(DisplayText.escaped(String(repeating: "x", count: 1_000)).count == 1_000)
  }

  @Test func aNameInALogHasNoCharacterThatIsNotSeen() {
    #expect(DisplayText.sanitized("a\u{AD}b\u{34F}\u{115F}\u{3164}\u{FE0F}\u{E0100}c") == "a?b?????c")
  }

  @Test func jsonForATerminalHasNothingThatItActsUpon() throws {
    let value = JSON.object(["host": .string("a\u{9B}31m\u{202E}\u{E0041}é\n")])
    #expect(value.printed() == #"{"host":"a\u009b31m\u202e\udb40\udc41é\n"}"#)
    #expect(try JSON(parsing: Array(value.printed().utf8)) == value)
  }
}
