import IAMPASSProtocol
import Testing

@Suite struct ReasonWordTests {
  @Test func theMeaningOfAKnownWordIsShown() {
    #expect(ReasonWord.text(of: "APPLICATION_DISABLED") == "sign-in by phone is switched off")
    #expect(ReasonWord.text(of: "TOO_MANY_REQUESTS") == "too many requests in the last two minutes, try again later")
    #expect(ReasonWord.text(of: "REQUEST_PENDING")?.contains("another open request") == true)
  }

  @Test(arguments: ["SOME_NEW_REASON", "X", "ERROR_42", "", nil])
  func anUnknownWordIsNotShown(_ word: String?) {
    #expect(ReasonWord.text(of: word) == nil)
  }

  @Test func proseIsShownHarmless() {
    #expect(ReasonWord.text(of: "no\u{1B}[31m room") == "no?[31m room")
    #expect(ReasonWord.text(of: "NOT NOW")?.isEmpty == false)
  }
}
