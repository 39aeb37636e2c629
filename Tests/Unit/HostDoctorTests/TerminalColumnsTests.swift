import HostDoctor
import Testing

@Suite struct TerminalColumnsTests {
  @Test func whatFitsStaysWhole() { #expect(TerminalColumns.prefix(of: "| waiting", columns: 9) == "| waiting") }

  @Test(arguments: [("| waiting", 8, "| waitin"), ("| waiting", 0, ""), ("| waiting", -1, "")])
  func cutsWhatDoesNot(_ text: String, _ columns: Int, _ expected: String) {
    #expect(TerminalColumns.prefix(of: text, columns: columns) == expected)
  }

  @Test func aWideCharacterTakesTwoColumnsAndIsNotCutInHalf() {
    #expect(TerminalColumns.prefix(of: "山田\u{2019}s", columns: 6) == "山田\u{2019}s")
    #expect(TerminalColumns.prefix(of: "山田", columns: 3) == "山")
  }

  @Test func aCombiningMarkTakesNoColumn() {
    #expect(TerminalColumns.prefix(of: "rene\u{301}!", columns: 4) == "rene\u{301}")
  }
}
