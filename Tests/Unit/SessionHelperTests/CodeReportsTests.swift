import Glibc
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import SessionHelper

/// Uses of recovery codes, told to the service once it answers.
@Suite(.enabled(if: geteuid() == 0, "the sets are root's"))
struct CodeReportsTests {
  private let office: HelperFixture

  init() throws { office = try HelperFixture() }

  /// Spends codes of a new set.
  private func spend(_ count: Int, of name: String = "alice") throws {
    let user = SystemUser(name: try #require(UnixUsername(validating: name)), uid: 1_000)
    let drawn = try office.codes.draw(for: user, at: 0)
    try office.codes.keep(drawn.set)
    for code in drawn.codes.prefix(count) {
      let use = CodeUse(user: user.name, service: "sudo", tty: nil, remoteHost: "192.0.2.1", time: 1_700_000_000)
      guard case .accepted = try office.codes.take(code, of: user, use) else {
        Issue.record("not spent")
        return
      }
    }
  }

  @Test func aUserWhoCannotBeLookedUpIsNotLookedUpAtEachTurn() throws {
    try spend(1, of: "bob")
    var lookups = 0
    let reports = CodeReports(
      office.codes, PhoneUses(state: RunFolder(path: office.folder.path + "/state")), hostName: { nil },
      token: { _ in
        lookups += 1
        throw UserLookupError.listedAndUnknown
      })
    for now in [0, 30_000, 599_999] as [Int64] { reports.look(open: [], TestLog(), now) }
    #expect(lookups == 1)
    reports.look(open: [], TestLog(), 600_000)
    #expect(lookups == 2)
  }

  private func look() {
    office.supervisor.checkUses(at: office.now)
    office.pass(milliseconds: 1_000)
  }

  /// A phone has approved without the service.
  private func approve(_ name: String = "alice") throws -> String {
    let id = try #require(Digest.randomIdentifier())
    let folder = RunFolder(path: office.folder.path + "/state")
    _ = try folder.folder("offline")
    let use = CodeUse(
      user: try #require(UnixUsername(validating: name)), service: "login", tty: "tty1", remoteHost: nil,
      time: 1_700_000_000)
    try AtomicFile.write(
      PhoneUse(id: id, use: use, phone: "phone-1").encoded(), to: folder.folder("offline/uses") + "/" + id, mode: 0o600)
    return id
  }

  /// The session that it opened.
  private func open(_ use: String) throws -> String {
    try office.signIn { record in
      var offline = SessionRecord(
        id: record.id, user: record.user, uid: record.uid, service: "login", remoteHost: nil, tty: "tty1", session: nil,
        process: record.process, parent: record.parent, created: record.created, duration: 7_200,
        offlineUse: .init(id: use, way: .phone, time: 1_700_000_000), opensSession: true)
      offline.isClaimed = record.isClaimed
      offline.binding = record.binding
      record = offline
    }
  }

  @Test func eachApprovalOfAPhoneIsToldOnce() throws {
    let id = try approve()
    _ = try approve("bob")
    for _ in 0..<3 { look() }
    let told = try #require(office.service.usesTold.first)
    #expect(office.service.usesTold.count == 1, "bob has no token")
    #expect(told.id == id && told.way == .phone && told.left == nil && !told.isOpen)
    #expect(told.context == SignInContext(host: "laptop", service: "login", user: "alice", tty: "tty1"))
    #expect(try office.uses.unreported().isEmpty)
    office.restart()
    look()
    #expect(office.service.usesTold.count == 1, "a restart tells nothing again")
  }

  @Test(arguments: [false, true]) func aSessionThatItsUserDisownsEnds(afterRestart: Bool) throws {
    let id = try approve()
    let record = try open(id)
    look()
    #expect(office.service.usesTold.map(\.isOpen) == [true])
    if afterRestart {
      office.restart()
      office.pass()
      look()
      #expect(office.service.usesTold.map(\.id) == [id, id])
    }
    office.pass(milliseconds: 60_000)
    let asked = office.service.usesTold.count
    #expect(asked >= 5 && office.logind.terminated == [], "as long as nobody disowns it, it goes on")
    office.service.toUses = .codeUseDisowned
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.log.count("disowned on the phone") == 1)
    #expect(!office.records.contains(record))
  }

  @Test func theServiceLearnsThatTheSessionHasEnded() throws {
    let id = try approve()
    let record = try open(id)
    look()
    office.logind.sessions = [:]
    office.logind.tell(.sessionRemoved("1"))
    office.pass(milliseconds: 20_000)
    #expect(!office.records.contains(record))
    #expect(office.service.usesTold.map(\.isOpen) == [true, false])
    office.pass(milliseconds: 120_000)
    #expect(office.service.usesTold.count == 2)
  }

  @Test func eachUseIsToldOnce() throws {
    try spend(2)
    for _ in 0..<3 { look() }
    #expect(Set(office.service.usesTold.map(\.left)) == [9, 8])
    #expect(office.service.usesTold.count == 2)
    let told = try #require(office.service.usesTold.first)
    #expect(told.context == SignInContext(host: "laptop", service: "sudo", user: "alice", remoteHost: "192.0.2.1"))
    #expect(told.usedAt == 1_700_000_000)
    office.restart()
    look()
    #expect(office.service.usesTold.count == 2, "a restart tells nothing again")
  }

  /// A directory may be away: the use is told once the system knows the user again.
  @Test func aUseOfAListedUserWhomTheSystemDoesNotKnowIsKept() throws {
    try spend(1, of: "unknown")
    look()
    #expect(office.service.usesTold.isEmpty)
    #expect(try office.codes.unreportedUses().count == 1)
    let line = "a use of a code is not told: user=unknown: the system does not know the user, whom the service lists"
    #expect(office.log.count(line) == 1)
  }

  @Test func anOutageDelaysIt() throws {
    try spend(1)
    office.service.toUses = .failed(.serverFailed(status: 503))
    look()
    office.pass(milliseconds: 3_600_000)
    let tried = office.service.usesTold.count
    #expect(tried > 1)
    office.service.toUses = .codeUseTold
    office.pass(milliseconds: 3_600_000)
    #expect(office.service.usesTold.count == tried + 1)
    #expect(try office.codes.unreportedUses().isEmpty)
  }

  @Test func aRevokedSetsUsesAreToldAllTheSame() throws {
    try spend(1)
    try office.codes.revoke(try #require(UnixUsername(validating: "alice")))
    look()
    #expect(office.service.usesTold.count == 1)
    #expect(try FolderListing.names(in: office.folder.path + "/state/recovery").filter { !$0.hasPrefix(".") } == [])
  }

  @Test func aServiceThatTakesNoReportsIsLeftAlone() throws {
    try spend(1)
    office.service.toUses = .codeUseRefused
    look()
    office.pass(milliseconds: 3_600_000)
    let tried = office.service.usesTold.count
    #expect(tried == 3, "a service that was put back may know the user in a moment")
    look()
    #expect(office.service.usesTold.count == tried)
    #expect(try office.codes.unreportedUses().isEmpty)
  }

  @Test func aPageThatIsNotThereSettlesNothing() throws {
    try spend(1)
    office.service.toUses = .failed(.notFound)
    look()
    office.pass(milliseconds: 3_600_000)
    #expect(office.service.usesTold.count > 4)
    #expect(try office.codes.unreportedUses().count == 1)
  }

  @Test func aUserWithoutTokenIsNobodyThere() throws {
    try spend(1, of: "bob")
    look()
    #expect(office.service.usesTold.isEmpty)
    #expect(try office.codes.unreportedUses().isEmpty)
  }

  @Test func aToldCodeStaysUsedUp() throws {
    try spend(1)
    look()
    let alice = try #require(UnixUsername(validating: "alice"))
    let set = try #require(try office.codes.set(of: alice))
    #expect(try office.codes.left(of: set) == 9)
  }
}
