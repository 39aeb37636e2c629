import Testing

@testable import IAMPASSProtocol

/// The parts of a sign-in that a phone can show: seven pairs from hosts, and others that an application chooses.
@Suite struct SignInContextTests {
  private func context(_ text: String) throws -> SignInContext {
    try SignInContext(try JSON(parsing: Array(text.utf8)))
  }

  @Test func furtherPairsComeAfterTheKnownOnesByName() throws {
    let context = try context(#"{"to":"Bob","amount":"20 EUR","host":"shop"}"#)
    #expect(context.pairs.map(\.name) == ["host", "amount", "to"])
    #expect(context.pairs.map(\.value) == ["shop", "20 EUR", "Bob"])
  }

  @Test func whoAsksFollowsWhoIsAskedFor() throws {
    let context = try context(#"{"tty":"pts/1","asked_by":"mallory","user":"alice"}"#)
    #expect(context.pairs.map(\.name) == ["user", "asked_by", "tty"])
    #expect(context.askedBy == "mallory" && !context.isTransaction)
  }

  @Test func aRequestWithoutDigitsSaysSo() throws {
    let without = SignInContext(host: "desk", service: "swaylock", user: "alice", isWithoutCode: true)
    #expect(without.pairs.map(\.name) == ["host", "service", "user", "match_code"])
    #expect(without.pairs.last?.value == "none: the program shows no text")
    let read = try SignInContext(try JSON(parsing: without.json.encoded()))
    #expect(read == without && read.isWithoutCode && !read.isTransaction)
    let with = SignInContext(host: "desk", service: "swaylock", user: "alice")
    #expect(ShownContext.hash(without) != ShownContext.hash(with))
  }

  @Test(arguments: ["47", "none", "none: the program shows no text ", "NONE: THE PROGRAM SHOWS NO TEXT"])
  func anotherValueSaysNothingOfDigits(_ value: String) throws {
    let read = try SignInContext(.object(["host": .string("desk"), "match_code": .string(value)]))
    #expect(!read.isWithoutCode && read.isTransaction)
    #expect(read.pairs.last?.value == value)
  }

  @Test func aContextIsReadAsWritten() throws {
    let context = SignInContext(
      host: "shop", user: "alice", askedBy: "mallory", further: [.init(name: "to", value: "Bob")])
    #expect(try SignInContext(try JSON(parsing: context.json.encoded())) == context)
  }

  @Test func tenPairsAreTakenAndElevenAreNot() throws {
    func text(_ count: Int) -> String {
      "{" + (1...count).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}"
    }
    #expect(try context(text(10)).pairs.count == 10)
    #expect(throws: MessageError.member("context")) { try context(text(11)) }
  }

  /// A phone's page sorts names by UTF-16 and puts numbers first. The page would hash such names differently.
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

  /// Hashes cover the received text. Escaping is for display only.
  @Test func aValueIsKeptAsItCame() throws {
    let value = try #require(try context(#"{"a":"b\u202e  c\n\u00ad"}"#).pairs.first?.value)
    #expect(Array(value.unicodeScalars) == Array("b\u{202E}  c\n\u{AD}".unicodeScalars))
    #expect(SignInContext(host: "a\u{202E}").json == .object(["host": .string("a\u{202E}")]))
  }

  @Test(arguments: ["host", "remote_host", "to"])
  func aValueThatIsTooLongToBeShownIsRefused(_ name: String) throws {
    func text(_ count: Int) -> String { "{\"\(name)\":\"\(String(repeating: "x", count: count))\"}" }
    #expect(try context(text(1_000)).pairs.first?.value.count == 1_000)
    #expect(throws: MessageError.member("context")) { try context(text(1_001)) }
  }

  @Test func moreThanAPhoneCanReadInOneReplyIsRefused() throws {
    let long = String(repeating: "\u{1F980}", count: 1_000)
    #expect(throws: MessageError.member("context")) {
      try context("{\"a\":\"\(long)\",\"b\":\"\(long)\",\"c\":\"\(long)\"}")
    }
    #expect(try context("{\"a\":\"\(long)\"}").pairs.count == 1)
  }

  @Test func aNullIsNotAPair() throws { #expect(try context(#"{"a":null,"host":null}"#).pairs.isEmpty) }
}

/// A command that is too long to be shown.
@Suite struct LongCommandTests {
  private func command(_ count: Int) -> String { "begin" + String(repeating: "x", count: count - 8) + "end" }

  @Test func aThousandCharactersAreShownWhole() {
    let context = SignInContext(command: command(1_000))
    #expect(context.pairs.map(\.name) == ["command"])
    #expect(context.command == command(1_000))
  }

  @Test func bothEndsOfALongerCommandAreShownWithLengthAndDigest() throws {
    let whole = command(1_001)
    let context = SignInContext(command: whole)
    #expect(context.pairs.map(\.name) == ["command", "command_end", "command_length", "command_sha256"])
    #expect(context.command == String(whole.prefix(500)))
    let rest = try #require(context.longCommand)
    #expect(rest.end == String(whole.suffix(500)))
    #expect(rest.length == "1001")
    #expect(rest.sha256 == Digest.hexadecimal(Digest.sha256(Array(whole.utf8))))
    #expect(try SignInContext(try JSON(parsing: context.json.encoded())) == context)
  }

  /// Other clients send it unchanged.
  @Test func aLongCommandThatCameWholeIsShownByItsParts() throws {
    let whole = command(5_000)
    let read = try SignInContext(.object(["command": .string(whole)]))
    #expect(read == SignInContext(command: whole))
  }

  /// It fits beside ten other pairs, so that a long command never prevents a request.
  @Test func itsPartsDoNotCountAsPairs() throws {
    let further = (1...8).map { SignInContext.Pair(name: "k\($0)", value: "v") }
    let context = SignInContext(host: "a", command: command(2_000), further: further)
    #expect(try SignInContext(context.json) == context)
  }

  @Test(arguments: [
    #"{"command_end":"x"}"#, #"{"command":"x","command_length":"2000"}"#,
    #"{"command":"x","command_end":"y","command_length":"many","command_sha256":"\#(String(repeating: "0", count: 64))"}"#,
    #"{"command":"x","command_end":"y","command_length":"2000","command_sha256":"short"}"#,
  ])
  func partsThatDoNotBelongTogetherAreRefused(_ text: String) throws {
    let json = try JSON(parsing: Array(text.utf8))
    #expect(throws: MessageError.member("context.command")) { try SignInContext(json) }
  }
}
