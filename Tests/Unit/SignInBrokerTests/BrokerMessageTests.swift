import HostState
import HostSystem
import IAMPASSProtocol
import LoginModule
import Testing

@Suite struct BrokerMessageTests {
  private func decoded(_ message: BrokerMessage) -> BrokerMessage? {
    message.encoded().flatMap { BrokerMessage(decoding: Array($0.dropFirst(2))) }
  }

  private let requests = [
    BrokerRequest(user: "alice", service: "swaylock"),
    BrokerRequest(
      user: "élise", service: "polkit-1", hasPassword: true, isAgreed: true, passwordFollows: false, prompt: .push,
      methods: [.acceptance, .facial], timeout: 90),
    BrokerRequest(user: "", service: "", prompt: .choose, methods: [.device], timeout: 5),
    BrokerRequest(user: "alice", service: "polkit-1", asker: 1_001),
    BrokerRequest(user: "alice", service: "polkit-1", asker: UInt32.max - 1),
  ]

  @Test func everyMessageComesBackAsItWas() {
    let messages = requests.map(BrokerMessage.request) + [.say("Code 47"), .say(""), .ask("Password: ")]
    for message in messages + BrokerEnding.allCases.map({ .ended($0, "why") }) { #expect(decoded(message) == message) }
  }

  @Test func aFrameBeginsWithItsLength() {
    #expect(BrokerMessage.say("abc").encoded() == [0, 4, 2, 97, 98, 99])
  }

  @Test func nothingLongerThanAKibibyteIsSentOrRead() {
    #expect(BrokerMessage.say(String(repeating: "x", count: 1_023)).encoded()?.count == 1_026)
    #expect(BrokerMessage.say(String(repeating: "x", count: 1_024)).encoded() == nil)
    #expect(BrokerMessage(decoding: [2] + [UInt8](repeating: 97, count: 1_024)) == nil)
    let long = BrokerRequest(user: String(repeating: "x", count: 256), service: "s")
    #expect(BrokerMessage.request(long).encoded() == nil)
  }

  @Test func aCutOrLongerRequestIsRefused() throws {
    for request in requests {
      let frame = try #require(BrokerMessage.request(request).encoded())
      let content = Array(frame.dropFirst(2))
      for count in 0..<content.count { #expect(BrokerMessage(decoding: Array(content[..<count])) == nil) }
      #expect(BrokerMessage(decoding: content + [0]) == nil)
    }
  }

  /// Kind, flags, prompt, methods, timeout, and two names of one letter.
  private let least: [UInt8] = [1, 0, 0, 0, 0, 1, 97, 1, 98]

  @Test(arguments: [(1, 8), (1, 16), (2, 3), (3, 8), (4, 4), (4, 91), (6, 0), (6, 0xFF), (8, 0xC0), (0, 0), (0, 5)])
  func aValueOutOfItsBoundsIsRefused(_ place: Int, _ value: UInt8) {
    #expect(BrokerMessage(decoding: least) != nil)
    var bad = least
    bad[place] = value
    #expect(BrokerMessage(decoding: bad) == nil)
  }

  @Test(arguments: [UInt8(0), 0xFF])
  func anAskerIsAUserOtherThanRoot(_ byte: UInt8) {
    let named = [1, 8] + least[2...]
    #expect(BrokerMessage(decoding: named + [0, 0, 3, 0xE9]) == .request(asked(by: 1_001)))
    #expect(BrokerMessage(decoding: named + [UInt8](repeating: byte, count: 4)) == nil)
  }

  private func asked(by uid: UInt32) -> BrokerRequest {
    BrokerRequest(user: "a", service: "b", passwordFollows: false, asker: uid)
  }

  @Test func onlyRootsProgramNamesAnotherAsker() {
    #expect(asked(by: 1_001).askerUID(of: 0) == 1_001)
    #expect(asked(by: 1_001).askerUID(of: 1_002) == 1_002)
    #expect(BrokerRequest(user: "a", service: "b").askerUID(of: 0) == 0)
  }

  @Test func anUnknownEndingIsRefused() {
    #expect(BrokerMessage(decoding: [4, 0]) == nil)
    #expect(BrokerMessage(decoding: [4, 10]) == nil)
    #expect(BrokerMessage(decoding: [4]) == nil)
  }

  /// Whatever is read is written in the same way, or is not read.
  @Test func anyBytesAreReadInOneWayOrNotAtAll() {
    var state: UInt64 = 42
    for _ in 0..<200_000 {
      var bytes: [UInt8] = []
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let count = Int(state >> 60)
      for _ in 0..<count {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes.append(UInt8(state >> 61))
      }
      guard let message = BrokerMessage(decoding: bytes) else { continue }
      #expect(message.encoded().map { Array($0.dropFirst(2)) } == bytes)
    }
  }
}
