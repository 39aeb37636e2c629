import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import SessionHelper

/// Sessions of phones that administrators take out of the signed list. The user `daemon` stands for a person.
@Suite struct WithdrawnPhoneTests {
  private static let keyTexts = [
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEkbuvVBn8efH9c4pE/5b3nPaQUylhHK2LdwlUJyyDhdd4sJXuvkteOwycXNoSvmRFqmoGsRFZ2ZdD/SAf26iRYA==",
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/t+8LzdkK/3hhhXI+gXYDjpWR+fsCaEtLfmMGZKmF0dK00H60nwvLzZW+HUwSbRjUsGAj86zs+X6IpALSy7PKg==",
  ]
  private static let settings = "users = service\nusers_from_service = 1-59999\napprovals = verified\n"

  private let first: PinnedPhone
  private let second: PinnedPhone

  init() throws {
    let phones = try Self.keyTexts.enumerated().map { place, text in
      let key = try #require(P256PublicKey(text))
      return try #require(PinnedPhone(id: "p\(place)", key: key, credential: nil, since: 1, name: "phone"))
    }
    (first, second) = (phones[0], phones[1])
  }

  /// A computer whose list has these phones of the user.
  private func office(
    _ phones: PinnedPhone..., settings: String = settings, isSigned: Bool = true,
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> HelperFixture {
    let office = try HelperFixture(settings: settings, change)
    if isSigned {
      let set = try #require(AdministratorSet(number: 1, previous: [], keys: [.phone(name: "alice", first)]))
      let anchor = try #require(FleetAnchor(administrators: set, application: "app", group: ""))
      _ = try Fleet(credential: "own", anchor: anchor).write(in: office.state)
    }
    try list(phones, 1, office)
    return office
  }

  private func list(_ phones: [PinnedPhone], _ version: Int64, _ office: HelperFixture, half: Bool = false) throws {
    let folder = try office.state.folder("service")
    func heading(_ kind: String, _ number: Int64) -> String { "# iampass \(kind) for=own epoch=1 version=\(number)\n" }
    let lines = phones.map { "daemon:\($0.fields)\n" }.joined()
    let users = heading("users", half ? version - 1 : version) + (phones.isEmpty ? "" : "daemon:token\n")
    try AtomicFile.write(Array((heading("phones", version) + lines).utf8), to: folder + "/phones", mode: 0o600)
    try AtomicFile.write(Array(users.utf8), to: folder + "/users", mode: 0o600)
  }

  @discardableResult
  private func signIn(_ office: HelperFixture, by phone: PinnedPhone?, session: String = "1", type: String = "tty")
    throws
    -> String
  {
    try office.signIn("daemon", session: session, type: type, phone: phone.map { ApprovingPhone($0) })
  }

  @Test func theSessionOfAPhoneThatLeftTheListEnds() throws {
    let office = try office(first, second)
    try signIn(office, by: first)
    try signIn(office, by: second, session: "2")
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == [])
    try list([second], 2, office)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.seat.said == ["1: Signed out: the session was closed."])
    #expect(office.log.count("phone=p0 of") == 1)
    #expect(office.service.ended.count == 1)
  }

  @Test func theSessionOfAUserWhomTheListLacksEnds() throws {
    let office = try office(first)
    try signIn(office, by: first)
    office.pass()
    try list([], 2, office)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func theSameIDWithAnotherKeyIsAnotherPhone() throws {
    let office = try office(first)
    try signIn(office, by: first)
    office.pass()
    let other = try #require(PinnedPhone(id: first.id, key: second.key, credential: nil, since: 1, name: "phone"))
    try list([other], 2, office)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aSignInThatEndedAfterTheListCameIsSeen() throws {
    let office = try office(second)
    office.pass()
    try signIn(office, by: first)
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func onEndSaysWhatIsDone() throws {
    let left = try office(second) { $0.onEnd = .ignore }
    try signIn(left, by: first)
    left.pass(milliseconds: 1_000)
    #expect(left.logind.terminated == [])
    let locked = try office(second) { $0.onEnd = .lock }
    try signIn(locked, by: first, type: "wayland")
    locked.pass(milliseconds: 1_000)
    #expect(locked.logind.locked == ["1"] && locked.logind.terminated == [])
  }

  @Test func manyEndTogether() throws {
    let office = try office(second)
    for number in 1...8 {
      try office.signIn(
        "daemon", uid: 1_000 + UInt32(number), session: "\(number)", phone: ApprovingPhone(first))
    }
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated.count == 8)
  }

  @Test func aListThatIsNotWholeEndsNothing() throws {
    let office = try office(first)
    try signIn(office, by: first)
    office.pass()
    try list([second], 2, office, half: true)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
  }

  @Test func aListThatCannotBeReadEndsNothingUntilItCan() throws {
    let office = try office(first)
    try signIn(office, by: first)
    office.pass()
    try list([second], 2, office)
    let phones = office.state.path + "/service/phones"
    #expect(chmod(phones, 0o622) == 0)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
    #expect(chmod(phones, 0o600) == 0)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aUserWhomTheSystemDoesNotSayIsLeftAloneUntilItDoes() throws {
    let office = try office(first)
    try signIn(office, by: first)
    office.pass()
    try list([second], 2, office)
    office.lookups.isSilent = true
    office.pass(milliseconds: 60_000)
    #expect(office.lookups.count > 0)
    #expect(office.logind.terminated == [])
    office.lookups.isSilent = false
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// A directory of users may be slow.
  @Test func whileTheListHasThePhoneTheSystemIsNotAsked() throws {
    let office = try office(first)
    try signIn(office, by: first)
    office.pass(milliseconds: 60_000)
    #expect(office.lookups.count == 0)
  }

  @Test func aListThatNobodySignsEndsNothing() throws {
    let office = try office(second, isSigned: false)
    try signIn(office, by: first)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
  }

  @Test func sessionsThatTheListDoesNotDecideAboutGoOn() throws {
    let believing = try office(second, settings: "users = service\nusers_from_service = 1-59999\n")
    try signIn(believing, by: first)
    believing.pass(milliseconds: 1_000)
    #expect(believing.logind.terminated == [])
    let office = try office(second)
    try signIn(office, by: nil)
    // Their phone stands in this computer's own file.
    try AtomicFile.write(
      Array("bin:\(first.fields)\n".utf8), to: office.folder.path + "/phones", mode: 0o644)
    try office.signIn("bin", uid: 1_001, session: "2", phone: ApprovingPhone(first))
    office.pass(milliseconds: 1_000)
    #expect(office.logind.terminated == [])
  }

  @Test func theRecordKeepsThePhone() throws {
    let office = try office(first)
    let id = try signIn(office, by: first)
    #expect(try office.ledger.read(id).phone == ApprovingPhone(first))
  }
}
