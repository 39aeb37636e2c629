import Testing

@testable import IAMPASSProtocol

@Suite struct UnsignedChangesTests {
  private func reply(_ unsigned: JSON?) -> [UInt8] {
    JSON.object(["status": .bool(true), "unsigned": unsigned]).encoded()
  }

  @Test func readsWhatIsWritten() {
    for changes in [UnsignedChanges(count: 3, age: 7_200), UnsignedChanges(count: 0, age: nil)] {
      #expect(UnsignedChanges(inReply: reply(changes.json)) == changes)
    }
  }

  @Test func aPageThatSaysNothingHasNone() {
    #expect(UnsignedChanges(inReply: reply(nil)) == nil)
    #expect(UnsignedChanges(inReply: reply(.object(["changes": .integer(-1)]))) == nil)
    #expect(UnsignedChanges(inReply: []) == nil)
    let odd = UnsignedChanges(inReply: reply(.object(["changes": .integer(1), "age": .integer(-1)])))
    #expect(odd == UnsignedChanges(count: 1, age: nil))
  }
}

@Suite struct ElapsedTimeTests {
  @Test(
    arguments: [
      (-5, "1 min"), (0, "1 min"), (119, "1 min"), (7_199, "119 min"), (7_200, "2 h"), (172_799, "47 h"),
      (172_800, "2 d"), (.max, "106751991167300 d"),
    ] as [(Int64, String)])
  func readsAsPeopleSayIt(_ seconds: Int64, _ words: String) {
    #expect(ElapsedTime.words(seconds: seconds) == words)
  }
}
