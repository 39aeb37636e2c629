import CommandSupport
import HostSystem
import IAMPASSProtocol
import PresenceLink
import Testing

@testable import HostState
@testable import IAMPASSControl

@Suite struct PresenceTests {
  private let adapter = BluetoothAddress("00:AA:01:00:00:00")!
  private let phone = BluetoothAddress("A4:C3:F0:11:22:33")!
  private let alice = UnixUsername(validating: "alice")!

  private func bound(_ phone: BluetoothAddress, adapter: BluetoothAddress) -> BoundPhone {
    BoundPhone(user: alice, adapter: adapter, phone: phone, keyDigest: String(repeating: "0", count: 64))
  }

  @Test func aBoundPhoneWithoutABondIsListedToo() {
    let listed = PairedPhone.all(bound: [bound(phone, adapter: adapter)], bonds: [])
    #expect(listed.map(\.columns) == [["\(phone)", "-", "\(adapter)", "-", "alice", "bond missing"]])
  }

  @Test func eachStateIsSaidInWordsOfItsOwn() {
    let words = UserPresence.State.allCases.map {
      ListedPresence.columns(UserPresence(user: alice, state: $0, since: 40), now: 100)
    }
    #expect(Set(words.map { $0[1] }).count == UserPresence.State.allCases.count)
    #expect(words.allSatisfy { $0[0] == "alice" && $0[2] == "1m" })
  }

  @Test func aKeyThatNobodyComparedDoesNotCountIfThatIsWanted() throws {
    let text = "[LinkKey]\nKey=\(String(repeating: "a", count: 32))\nType=4\n"
    let device = try #require(BondedDevice(adapter: adapter, address: phone, parsing: Array(text.utf8)))
    #expect(BondState(pinned: device.keyDigest, device) == .bound)
    #expect(BondState(pinned: device.keyDigest, device, requiresAuthenticated: true) == .keyNotAuthenticated)
    #expect(BondState(pinned: "00", device, requiresAuthenticated: true) == .keyChanged)
  }

  @Test func aMissingBondIsNotAnotherKey() {
    #expect(BondState(pinned: "00", nil) == .bondMissing)
  }

  @Test func onlySilenceIsSaidToBeSilence() {
    for error in Int32(1)...133 {
      let answer = ProbeAnswer.notAsked(error)
      let problem = PresenceProblem.notNear(phone, answer, adapter: adapter)
      #expect(problem.message != PresenceProblem.notNear(phone, .silent, adapter: adapter).message, "\(error)")
      #expect(problem.hint != nil, "\(error)")
    }
  }

  @Test func whatIsTypedMovesNoCursor() {
    #expect(!PresenceProblem.badAddress("\u{1b}[2J").message.contains("\u{1b}"))
  }

  @Test(arguments: ["", "A4:C3:F0:11:22", "A4-C3-F0-11-22-33", "00:00:00:00:00:00", "A4:C3:F0:11:22:33 "])
  func whatIsNotAnAddressIsAnErrorOfUsage(text: String) {
    #expect(throws: CommandProblem.self) { try BluetoothAddress(argument: text) }
    #expect(PresenceProblem.badAddress(text).exitCode == 64)
  }
}
