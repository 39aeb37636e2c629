import Testing
import WorkerLink

struct ReplyFramingTests {
  private func framing(_ headers: (String, String)..., status: Int = 200, isMultiplexed: Bool = false) -> ReplyFraming {
    ReplyFraming(headers.map { (name: $0.0, value: $0.1) }, status: status, isMultiplexed: isMultiplexed)
  }

  @Test func takesOneLength() {
    #expect(framing(("content-LENGTH", "12")) == .length(12))
    #expect(framing(("Content-Length", "0"), isMultiplexed: true) == .length(0))
  }

  @Test(arguments: ["", "+2", "-2", "2, 2", " 2", "0x2", "2.0", "99999999999999999999"])
  func takesNoLengthThatIsNotAPlainNumber(_ text: String) {
    #expect(framing(("Content-Length", text)) == .ambiguous)
  }

  @Test func takesNoTwoLengths() {
    #expect(framing(("Content-Length", "2"), ("Content-Length", "2")) == .ambiguous)
    #expect(framing(("Content-Length", "2"), ("Content-Length", "3"), status: 502) == .ambiguous)
    #expect(framing(("Content-Length", "2"), ("Transfer-Encoding", "chunked")) == .ambiguous)
  }

  @Test func takesExactlyChunked() {
    #expect(framing(("Transfer-Encoding", "Chunked")) == .marked)
    for coding in ["gzip, chunked", "identity", "chunked, chunked", "xchunked", ""] {
      #expect(framing(("Transfer-Encoding", coding)) == .ambiguous)
    }
    #expect(framing(("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")) == .ambiguous)
  }

  @Test func endsByFramesOverHTTP2Only() {
    #expect(framing(isMultiplexed: true) == .marked)
    #expect(framing(("Transfer-Encoding", "chunked"), isMultiplexed: true) == .ambiguous)
    #expect(framing() == .none)
  }

  @Test(arguments: [204, 304]) func knowsRepliesWithoutBody(_ status: Int) {
    #expect(framing(status: status) == .length(0))
    #expect(framing(("Content-Length", "7"), status: status) == .length(0))
  }
}
