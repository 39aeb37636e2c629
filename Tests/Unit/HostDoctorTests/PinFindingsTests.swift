import HostDoctor
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing

@Suite struct PinFindingsTests {
  /// Two keys in the form of `SubjectPublicKeyInfo`; nobody verifies with them.
  private static func key(_ number: UInt8) -> P256PublicKey {
    P256PublicKey(
      number == 1
        ? "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q=="
        : "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfPJ7GI0DT36KUjgDBLUaw8CJaeJ38hs1pgtI/EdmmXgHd1UQ247QQCk9msafdDDbun2t5jzpgimeBLedInhz0Q=="
    )!
  }

  private func pinned(_ id: String, _ byte: UInt8, isLocked: Bool = false) -> PinnedPhone {
    let credential = isLocked ? PinnedPhone.Credential(id: "AAAA", key: Self.key(byte)) : nil
    return PinnedPhone(id: id, key: Self.key(byte), credential: credential, since: 0, name: "Phone")!
  }

  private func told(_ id: String, _ byte: UInt8, credential: PhoneKeys.Credential? = nil) -> PhoneDigestsReply.Phone {
    let keys = PhoneKeys(publicKey: Self.key(byte).text, credential: credential)
    return PhoneDigestsReply.Phone(id: id, keysDigest: keys.digest)
  }

  private func findings(_ users: PinFindings.User..., withoutToken: [String] = []) -> [Finding] {
    PinFindings(users: users, withoutToken: withoutToken).findings
  }

  @Test func theSamePhoneAtTheServiceIsWell() {
    let found = findings(.init(name: "alice", pinned: [pinned("1", 1)], listed: [told("1", 1)]))
    #expect(found.map(\.level) == [.ok])
    #expect(found.first?.text == "each user's phone is pinned, and the service has the same")
  }

  @Test func aFurtherPhoneThatIsNotPinnedIsAWarning() {
    let found = findings(.init(name: "alice", pinned: [pinned("1", 1)], listed: [told("2", 2), told("1", 1)]))
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.contains("a further phone that is not pinned") == true)
    #expect(found.first?.hint?.hasPrefix("iampassctl phone trust alice") == true)
  }

  @Test func whatTheServiceWasNotAskedIsNotClaimed() {
    let found = findings(.init(name: "alice", pinned: [pinned("1", 1)], listed: nil))
    #expect(found.map(\.text) == ["each user's phone is pinned; the service does not tell whether it has the same"])
  }

  @Test func aUserWithoutAPinIsAWarning() {
    let found = findings(
      .init(name: "alice", pinned: [], listed: nil),
      .init(name: "bob", pinned: [pinned("1", 1)], listed: [told("1", 1)]))
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.hasSuffix(": alice") == true)
    #expect(found.first?.hint == "iampassctl phone trust alice")
  }

  @Test(
    arguments: [
      [], [("2", UInt8(1), nil)], [("1", 2, nil)], [("1", 1, PhoneKeys.Credential(id: "AAAA", publicKey: "KEY"))],
    ] as [[(String, UInt8, PhoneKeys.Credential?)]])
  func aPhoneThatTheServiceHasNoMoreIsAWarning(_ others: [(String, UInt8, PhoneKeys.Credential?)]) {
    let phones = others.map { told($0.0, $0.1, credential: $0.2) }
    let found = findings(.init(name: "alice", pinned: [pinned("1", 1)], listed: phones))
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.contains("the service does not have the pinned phone any more") == true)
    #expect(found.first?.hint?.contains("take the service for broken into") == true)
  }

  @Test func oneOfTwoPinnedPhonesIsEnough() {
    let found = findings(.init(name: "alice", pinned: [pinned("1", 1), pinned("2", 2)], listed: [told("2", 2)]))
    #expect(found.map(\.level) == [.ok])
  }

  @Test func aPinWithoutATokenIsAWarning() {
    let found = findings(withoutToken: ["mallory"])
    #expect(found.map(\.hint) == ["iampassctl phone forget mallory"])
    #expect(found.map(\.level) == [.warning])
  }

  /// What is said of alice, whose phone can only be tapped, and of bob, whose phone has a screen lock.
  private func locks(_ asking: [(service: String, methods: [AuthenticationMethod])]) -> [Finding] {
    let users = [
      PinFindings.User(name: "alice", pinned: [pinned("1", 1)], listed: nil),
      PinFindings.User(name: "bob", pinned: [pinned("2", 2, isLocked: true)], listed: nil),
    ]
    return PinFindings(users: users, withoutToken: [], asking: asking).findings.filter {
      $0.text.hasSuffix(": alice")
    }
  }

  @Test func aTapAloneIsSaid() {
    for methods in [[], [.acceptance], [.device, .acceptance]] as [[AuthenticationMethod]] {
      let found = locks([("sudo", methods)])
      #expect(found.map(\.level) == [.ok])
      #expect(found.first?.hint?.hasPrefix("methods=device") == true)
    }
    #expect(locks([]).isEmpty)
  }

  @Test func aStackThatATapIsNotEnoughForIsAWarning() {
    let found = locks([("sudo", [.device]), ("sshd", [.device, .facial])])
    #expect(found.map(\.level) == [.warning])
    #expect(found.first?.text.hasPrefix("sudo or sshd asks for a screen lock") == true)
    #expect(locks([("sudo", [.device]), ("sshd", [])]).map(\.level) == [.warning, .ok])
  }

  @Test func aStackThatAsksForWhatNoSignatureProvesIsAWarning() {
    let bob = PinFindings.User(name: "bob", pinned: [pinned("2", 2, isLocked: true)], listed: nil)
    func found(_ methods: [AuthenticationMethod]) -> [String] {
      PinFindings(users: [bob], withoutToken: [], asking: [("sudo", methods)]).findings.filter { $0.level == .warning }
        .map(\.text)
    }
    #expect(found([.facial]).count == 1)
    #expect(found([.facial]).first?.contains("methods=facial, which a computer cannot verify") == true)
    for methods in [[], [.device], [.device, .facial], [.acceptance, .facial]] as [[AuthenticationMethod]] {
      #expect(found(methods).isEmpty)
    }
    #expect(locks([("sudo", [.facial])]).isEmpty)
  }

  @Test func nobodyToLookAtIsNothingToSay() { #expect(findings().isEmpty) }
}
