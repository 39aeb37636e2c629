import IAMPASSProtocol
import Testing

@Suite struct JSONTests {
  @Test(arguments: [
    "", " ", "{", "{}x", "{\"a\":1}{\"b\":2}", "[1,]", "NaN", "[1e999]", "{\"a\":NaN}", "\u{FEFF}{}", "{'a':1}",
    // json-c accepts these even when strict.
    "1.", "1.e5", "-.5", "-01", "00", "-9223372036854775809", "9223372036854775808", "18446744073709551615",
    "\"a\u{1}\"", "\"a\nb\"", #""\ud800""#, #""\ud800\ud800""#, #""\udc00x""#, #""\ud83dx""#,
    "{\"a\":1,\"a\":1}", "[{\"x\":{\"b\":1,\"b\":2}}]", "{\"a\\u0000b\":1}", "{\"a\":\"\\u0000\"}", "\"a",
  ])
  func refusesWhatTwoReadersCouldReadDifferently(_ text: String) {
    #expect(throws: JSONError.self) { try JSON(parsing: Array(text.utf8)) }
  }

  @Test(arguments: [[0xC3, 0x28], [0xC1, 0xA9], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]])
  func refusesInvalidUTF8(_ bytes: [UInt8]) {
    #expect(throws: JSONError.self) { try JSON(parsing: [0x22] + bytes + [0x22]) }
  }

  @Test func refusesDeepNestingWithoutOverflow() {
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
    #expect(throws: JSONError.self) { try JSON(parsing: deep) }
  }

  @Test func colonsAndQuotesInStringsAreNotMembers() throws {
    let json = try JSON(parsing: Array(#"{"a:\"b\":":"c:\\"}"#.utf8))
    #expect(json["a:\"b\":"]?.string == "c:\\")
  }

  @Test func anEscapedBackslashBeforeU0000IsNotNUL() throws {
    #expect(try JSON(parsing: Array(#"["\\u0000"]"#.utf8)) == .array([.string("\\u0000")]))
  }

  @Test func writesWhatItReads() throws {
    let text = Array(#"{"a":[1,true,null,"é/\n"],"b":{"c":"😀"}}"#.utf8)
    #expect(try JSON(parsing: text).encoded() == text)
  }

  @Test(arguments: [
    "0", "-0", "-1", "9223372036854775807", "-9223372036854775808", "1.5e-3", "0.1E+2", "[10,0]", #""\ud83d\ude00""#,
    #""\\u\/\b\f\n\r\t""#,
  ])
  func readsWhatIsPlain(_ text: String) throws {
    _ = try JSON(parsing: Array(text.utf8))
  }

  /// json-c turns these into U+FFFD.
  @Test(arguments: [
    (#""\ud836\udc00""#, "\u{1D800}"), (#""\ud977\ude00""#, "\u{6DE00}"),
    (#""a\uDBBF\uDFFF\n\ud83d\ude00z""#, "a\u{FFFFF}\n😀z"),
    (#""\\ud836\ud83d\ude00\\""#, "\\ud836😀\\"),
  ])
  func readsEachPairOfSurrogatesAsItsCharacter(_ text: String, _ character: String) throws {
    let string = try #require(try JSON(parsing: Array(text.utf8)).string)
    #expect(Array(string.unicodeScalars) == Array(character.unicodeScalars))
    let member = Array("{\(text):1,\"b\":2}".utf8)
    guard case .object(let members) = try JSON(parsing: member) else { throw JSONError.notJSON }
    #expect(members.map { Array($0.name.unicodeScalars) } == [Array(character.unicodeScalars), ["b"]])
  }

  @Test func aMemberNamedTwiceIsSeenThroughItsEscapes() {
    #expect(throws: JSONError.memberNamedTwice) { try JSON(parsing: Array(#"{"\ud83d\ude00":1,"😀":2}"#.utf8)) }
  }

  @Test func canonicalFormSortsByName() {
    let json = JSON.object(["b": .string("1"), "a": .object(["d": .null, "c": .bool(true)])])
    #expect(String(decoding: json.canonicallyEncoded(), as: UTF8.self) == #"{"a":{"c":true,"d":null},"b":"1"}"#)
  }
}
