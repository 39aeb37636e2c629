import Testing

@testable import IAMPASSProtocol

/// What a phone may be shown of a sign-in: the six pairs that hosts send, and others that an application chooses.
@Suite struct SignInContextTests {
  private func context(_ text: String) throws -> SignInContext {
    try SignInContext(try JSON(parsing: Array(text.utf8)))
  }

  @Test func furtherPairsComeAfterTheKnownOnesByName() throws {
    let context = try context(#"{"to":"Bob","amount":"20 EUR","host":"shop"}"#)
    #expect(context.pairs.map(\.name) == ["host", "amount", "to"])
    #expect(context.pairs.map(\.value) == ["shop", "20 EUR", "Bob"])
  }

  @Test func aContextIsReadAsWritten() throws {
    let context = SignInContext(host: "shop", user: "alice", further: [.init(name: "to", value: "Bob")])
    #expect(try SignInContext(try JSON(parsing: context.json.encoded())) == context)
  }

  @Test func tenPairsAreTakenAndElevenAreNot() throws {
    func text(_ count: Int) -> String {
      "{" + (1...count).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}"
    }
    #expect(try context(text(10)).pairs.count == 10)
    #expect(throws: MessageError.member("context")) { try context(text(11)) }
  }

  /// A phone's page sorts names by UTF-16 and keeps numbers first: such names would be hashed otherwise there.
  @Test(arguments: ["", "1", "__proto__", "_x", "é", "a\\u0001", "a/b", "Kasse🎉", String(repeating: "a", count: 41)])
  func aNameThatIsNotPlainIsRefused(_ name: String) {
    #expect(throws: MessageError.member("context")) { try context("{\"\(name)\":\"v\"}") }
  }

  @Test(arguments: ["a", "Order number", "amount_due", "x-1", "v1.2", String(repeating: "a", count: 40)])
  func aPlainNameIsTaken(_ name: String) throws {
    #expect(try context("{\"\(name)\":\"v\"}").pairs.map(\.name) == [name])
  }

  @Test(arguments: ["1", "true", "{}", "[]"])
  func aValueIsText(_ value: String) {
    #expect(throws: MessageError.self) { try context("{\"amount\":\(value)}") }
    #expect(throws: MessageError.self) { try context("{\"host\":\(value)}") }
  }

  @Test func aValueIsCutAndMadeFitToBeShown() throws {
    let long = String(repeating: "x", count: 201)
    #expect(try context("{\"a\":\"\(long)\"}").pairs.map(\.value) == [String(long.dropLast())])
    #expect(try context(#"{"a":"b\u202ec\n"}"#).pairs.map(\.value) == ["b?c?"])
  }

  @Test func aNullIsNoPair() throws { #expect(try context(#"{"a":null,"host":null}"#).pairs.isEmpty) }
}
