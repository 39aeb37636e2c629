import Testing

@testable import IAMPASSServer

@Suite struct RequestIDTests {
  private func id(_ values: [String], from peer: String? = "192.0.2.1") throws -> String? {
    let proxies = TrustedProxies([try #require(PeerAddress("192.0.2.1"))])
    let request = ServiceRequest(
      method: "GET", target: "/", authority: nil, headers: values.map { ("x-request-ID", $0) }, peer: peer)
    return proxies.requestID(of: request)
  }

  @Test func isTakenFromATrustedProxyAlone() throws {
    #expect(try id(["Root=1-67891233-abc/+_.:"]) == "Root=1-67891233-abc/+_.:")
    for stranger in ["192.0.2.2", "::1", nil] { #expect(try id(["abc"], from: stranger) == nil) }
    #expect(try id([]) == nil)
    #expect(try id(["abc", "def"]) == nil)
  }

  @Test(
    arguments: [
      "", "a b", "a\nb", "a\"b", "é", "a\u{301}", "a,b", "a;b", "a\0", String(repeating: "a", count: 129),
    ])
  func whatIsNotFitIsNotTaken(_ text: String) throws {
    #expect(try id([text]) == nil)
  }

  @Test func isInTheReplyAndKnownWhileTheRequestIsAnswered() async throws {
    let fixture = try await Fixture()
    var ids: Set<String> = []
    for _ in 0..<2 {
      let reply = await fixture.service.respond(
        to: ServiceRequest(
          method: "GET", target: "/nothing", authority: "localhost", headers: [("X-Request-Id", "forged")]))
      let told = reply.headers.filter { $0.name == "X-Request-Id" }.map(\.value)
      #expect(told.count == 1)
      ids.formUnion(told)
    }
    #expect(ids.count == 2 && ids.allSatisfy { $0.utf8.count == 16 && RequestID.isFit($0) })
    #expect(RequestID.metadata.isEmpty)
    await RequestID.$current.withValue("abc") {
      // Replies that are held, and phones that are rung, are tasks of their own.
      #expect(await apart { RequestID.metadata } == ["request_id": "abc"])
    }
  }
}
