import PresenceLink
import Testing

@Suite struct ProbeMessageTests {
  private let adapter = BluetoothAddress("00:AA:01:00:00:00")!
  private let phone = BluetoothAddress("a4:C3:f0:11:22:33")!

  @Test func addressesAreReadAsTheyAreWritten() {
    #expect(phone.description == "A4:C3:F0:11:22:33")
    #expect(phone.octets == [0xa4, 0xc3, 0xf0, 0x11, 0x22, 0x33])
    for text in [
      "", "A4:C3:F0:11:22", "A4:C3:F0:11:22:33:", "A4-C3-F0-11-22-33", "A4:C3:F0:11:22:3G", "A4:C3:F0:11:22:3 ",
      " A4:C3:F0:11:22:3", "00:00:00:00:00:00", "FF:FF:FF:FF:FF:FF", "A4:C3:F0:11:22:٣٣", "A4C3F0112233xxxxx",
    ] {
      #expect(BluetoothAddress(text) == nil, "\(text)")
    }
  }

  @Test func requestsAndRepliesComeBackAsTheyWere() {
    for level in ProbeRequest.Level.allCases {
      let request = ProbeRequest(adapter: adapter, phone: phone, level: level)
      #expect(ProbeRequest(bytes: request.bytes) == request)
    }
    for answer in [ProbeAnswer.near, .silent, .impostor, .unknown("ENODEV"), .unknown("probe-limit")] {
      let reply = ProbeReply(phone: phone, answer: answer, milliseconds: 5_104)
      #expect(ProbeReply(bytes: reply.bytes) == reply)
      #expect(reply.bytes.count <= PacketWords.greatest)
    }
  }

  @Test func malformedMessagesAreRefused() {
    let good = "00:AA:01:00:00:00 A4:C3:F0:11:22:33 medium"
    for text in [
      "", good + " ", good + "\n", "probe " + good, "00:AA:01:00:00:00 A4:C3:F0:11:22:33",
      good.replacing(" m", with: "  m"),
      good + "x",
    ] {
      #expect(ProbeRequest(bytes: Array(text.utf8)) == nil, "\(text)")
    }
    for text in [
      "", "A4:C3:F0:11:22:33 near", "A4:C3:F0:11:22:33 near -1", "A4:C3:F0:11:22:33 near 007",
      "A4:C3:F0:11:22:33 near 60001", "A4:C3:F0:11:22:33 Near 1", "A4:C3:F0:11:22:33 unknown- 1",
      "A4:C3:F0:11:22:33 unknown 1", "A4:C3:F0:11:22:33 unknown-\u{1b}[2J 1", "A4:C3:F0:11:22:33 near 1 2",
      "A4:C3:F0:11:22:33 unknown-" + String(repeating: "x", count: 41) + " 1",
    ] {
      #expect(ProbeReply(bytes: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test func onlyAPageThatNobodyAnswersIsSilenceAndOnlyAMissingKeyAnImpostor() {
    // Every error that Linux has.
    for error in Int32(1)...133 {
      let answer = ProbeAnswer(error: error)
      switch error {
      // EHOSTDOWN
      case 112: #expect(answer == .silent)
      // EACCES, EBADE
      case 13, 52: #expect(answer == .impostor)
      default:
        guard case .unknown(let name) = answer else {
          Issue.record("\(error) is \(answer)")
          continue
        }
        #expect(
          ProbeReply(bytes: ProbeReply(phone: phone, answer: answer, milliseconds: 1).bytes)?.answer == .unknown(name))
      }
      // Refused on this computer: says nothing about a phone.
      guard case .unknown = ProbeAnswer.notAsked(error) else {
        Issue.record("\(error) is an answer")
        continue
      }
    }
  }
}
