import HostDoctor
import HostState
import HostSystem
import PresenceLink
import Testing

@Suite struct PresenceFindingsTests {
  private let phone = BoundPhone(
    user: UnixUsername(validating: "alice")!, adapter: BluetoothAddress("00:AA:01:00:00:00")!,
    phone: BluetoothAddress("A4:C3:F0:11:22:33")!, keyDigest: String(repeating: "0", count: 64))

  private func findings(
    _ phones: [BoundPhone], isOn: Bool = true, listens: Bool = true, error: FileError? = nil
  ) -> [Finding] {
    PresenceFindings(phones: phones, isOn: isOn, socketListens: listens) { (_) throws(FileError) in
      if let error { throw error }
      return nil
    }.findings
  }

  @Test func nothingIsSaidIfNoPhoneIsBound() {
    #expect(findings([], listens: false).isEmpty)
  }

  @Test func aPairingThatIsGoneIsAWarning() throws {
    let finding = try #require(findings([phone]).first)
    #expect(finding.level == .warning)
    #expect(finding.text == "A4:C3:F0:11:22:33, the phone of alice, is not paired any more")
  }

  @Test func aSocketThatDoesNotListenIsAWarning() {
    #expect(findings([phone], listens: false).last?.level == .warning)
    #expect(findings([phone]).last?.level == .ok)
  }

  @Test func phonesThatNobodyLooksForAreAWarning() {
    #expect(findings([phone], isOn: false, listens: false).last?.text.contains("presence is off") == true)
    #expect(findings([], isOn: false).isEmpty)
  }

  @Test func aPairingThatCannotBeReadIsAWarning() {
    let error = FileError(.missing, path: "/var/lib/bluetooth/x")
    #expect(findings([phone], error: error).first?.text == error.explanation)
  }
}
