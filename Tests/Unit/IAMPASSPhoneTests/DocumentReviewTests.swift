import DeviceProtocol
import IAMPASSPhone
import IAMPASSProtocol
import Testing
import WorkerLink

@Suite struct DocumentReviewTests {
  private func review(_ one: DocumentVectors.Case, _ service: ScriptedService) throws -> DocumentReview {
    try DocumentVectors.phone(service).review(try one.request(), remembering: try one.memory())
  }

  @Test func thereAreVectors() {
    #expect(DocumentVectors.cases(misfits: false).count == 19)
    #expect(DocumentVectors.cases(misfits: true).count == 101)
  }

  @Test(arguments: DocumentVectors.cases(misfits: false))
  func thePhoneShowsWhatThePageShows(_ one: DocumentVectors.Case) throws {
    let service = ScriptedService(DocumentVectors.pages(one.pages))
    guard case .fits(let document) = try review(one, service) else {
      Issue.record("\(try review(one, ScriptedService(DocumentVectors.pages(one.pages))))")
      return
    }
    #expect(service.isFinished)
    #expect(Digest.hexadecimal(document.document.digest) == one.json["digest"]?.string)
    #expect(document.title == (try one.text("title")))
    #expect(document.heading == (try one.text("heading")))
    #expect(document.notes == (try one.lines("notes")))
    #expect(document.lines == (try one.lines("lines")))
    #expect(document.memoryOnceSigned == (try one.remembered("memory_once_signed")))
  }

  @Test(arguments: DocumentVectors.cases(misfits: true))
  func whatDoesNotFitIsNotSigned(_ one: DocumentVectors.Case) throws {
    guard case .misfit(let misfit) = try review(one, ScriptedService(DocumentVectors.pages(one.pages))) else {
      Issue.record("it fits")
      return
    }
    #expect(misfit.explanation == one.json["explanation"]?.string)
  }

  @Test func pagesThatNeverEndAreLeft() throws {
    let one = try DocumentVectors.named("one change of each kind")
    let more = [String](repeating: #"{"status":true,"new":["zoe"],"next":"more"}"#, count: 10)
    let service = ScriptedService(DocumentVectors.pages([one.pages[0]] + more))
    #expect(try review(one, service) == .misfit(.tooLarge))
    // The list has three users.
    #expect(service.asked.count == 5)
  }

  @Test func aMillionUsersAreLeftAtTheFirstPageThatIsTooMuch() throws {
    let one = try DocumentVectors.named("one change of each kind")
    let more = (0..<200).map { #"{"name":"u\#($0)","groups":[],"phones":[],"token":"t"}"# }.joined(separator: ",")
    let page = #"{"status":true,"entries":[\#(more)],"next":"more"}"#
    let service = ScriptedService(DocumentVectors.pages([one.pages[0], page, page]))
    #expect(try review(one, service) == .misfit(.tooLarge))
    #expect(service.asked.count == 2)
  }

  @Test func anOutageIsNotAMisfit() throws {
    let one = try DocumentVectors.named("the first list")
    #expect(throws: PhoneError.transport(TransportError(.connectionLost))) {
      try review(one, ScriptedService([.reply(200, one.pages[0]), .failure(.connectionLost)]))
    }
  }

  @Test func eachPageIsAskedForByTheMarkOfTheOneBefore() throws {
    let one = try DocumentVectors.named("one change of each kind")
    let service = ScriptedService(DocumentVectors.pages(one.pages))
    _ = try review(one, service)
    let asks = try service.asked.map { try DocumentAsk(UnverifiedStatement(parsing: $0.body).statement) }
    #expect(asks.map(\.after) == ["", "page 3", "page 6"])
    #expect(asks.allSatisfy { $0.session == "s-8" && $0.knownSet == 2 && $0.ask.purpose == .document })
    #expect(Set(asks.map(\.ask.nonce)).count == asks.count)
  }
}
