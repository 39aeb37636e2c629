import IAMPASSProtocol
import Testing

@Suite struct JoinCodeTests {
  private let code = JoinCode(
    anchor: .authority, digest: Array(0..<32), secret: Secret(Base64URL.encode(Array(repeating: 7, count: 16))))

  @Test func aCodeIsReadAsItWasWritten() {
    #expect(JoinCode(code.exposedText) == code)
    let other = JoinCode(anchor: .certificate, digest: code.digest, secret: code.secret)
    #expect(JoinCode(other.exposedText) == other)
  }

  @Test func aMistypedCodeIsRefused() {
    let text = code.exposedText
    for place in text.indices.dropFirst(3) {
      var wrong = text
      wrong.replaceSubrange(place...place, with: text[place] == "A" ? "B" : "A")
      #expect(JoinCode(wrong) == nil, "\(wrong)")
    }
    for cut in 0..<text.count { #expect(JoinCode(String(text.prefix(cut))) == nil) }
    #expect(JoinCode(text + "A") == nil)
    #expect(JoinCode("IJ2" + text.dropFirst(3)) == nil)
  }

  @Test func theDigitsAreOfTheComputersOwnSecret() {
    let first = JoinCode.mark(of: Secret("a"))
    let second = JoinCode.mark(of: Secret("b"))
    #expect(first.count == 6 && first.allSatisfy(\.isNumber))
    #expect(first != second)
  }

  @Test(arguments: ["desk-7", "Desk_7.example.org", "a", String(repeating: "a", count: 64)])
  func aHostNameIsAName(_ name: String) { #expect(JoinRequest.isName(name)) }

  @Test(arguments: [
    "", "-a", "a-", "a..b", ".a", "a b", "a\n", "ä", "a/b", "<b>", "[a]", "a@b", String(repeating: "a", count: 65),
  ])
  func anythingElseIsNone(_ name: String) { #expect(!JoinRequest.isName(name)) }

  @Test func aRequestIsReadAsItWasWritten() throws {
    let request = JoinRequest(code: code.secret, name: "desk-7", secret: Secret(Base64.encode(Array(0..<24))))
    #expect(try JoinRequest(parsing: request.encoded()) == request)
    let short = JoinRequest(code: code.secret, name: "desk-7", secret: Secret("abc"))
    #expect(throws: MessageError.self) { try JoinRequest(parsing: short.encoded()) }
  }

  @Test func repliesAreReadAsTheyWereWritten() throws {
    let joined = JoinReply.joined(credential: "id", host: "desk-7", application: "office")
    for reply in [joined, .waiting] { #expect(try JoinReply(parsing: reply.encoded()) == reply) }
    #expect(throws: MessageError.self) { try JoinReply(parsing: Array(#"{"status":true}"#.utf8)) }
  }

  @Test func aChainHasItsCertificatesInOrder() {
    let first: [UInt8] = Array(0..<200)
    let second: [UInt8] = [1, 2, 3]
    let text =
      Array("subject=/CN=a\n".utf8) + CertificateChain.pem(first) + Array("x\n".utf8) + CertificateChain.pem(second)
    #expect(CertificateChain.certificates(in: text) == [first, second])
    #expect(
      CertificateChain.certificates(in: Array("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".utf8))
        .isEmpty)
  }
}
