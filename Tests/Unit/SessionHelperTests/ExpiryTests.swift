import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing

@testable import HostState
@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// A service that starts every session, and immediately reports the phone's approval.
private final class ApprovingService: HTTPTransport {
  func exchange(_ request: HTTPRequest, deadline: MonotonicInstant) throws(TransportError) -> HTTPReply {
    if request.url.contains("/authenticate_user/") {
      let session = StartedSession(
        status: .pending, statusURL: "/status/renewed", logoutURL: "/logout/renewed", token: Secret("token"),
        secret: Secret("0123456789abcdef01234567"), matchCode: nil)
      return HTTPReply(status: 202, headers: [], body: StartReply.started(session).encoded())
    }
    let status = StatusReply(status: .active, authenticated: true, reason: nil)
    return HTTPReply(status: 200, headers: [], body: status.encoded())
  }

  static func approval() throws -> ActiveSession {
    let settings = ServiceSettings(
      server: try ServerURL("https://localhost"), scheme: .documented, dialect: .iampass, signedReplies: false)
    let client = try AuthenticationClient(
      settings: settings,
      credential: ServiceCredential(applicationID: "a", secret: Secret("0123456789abcdef01234567")),
      transport: ApprovingService(), unixTime: { 0 })
    let deadline = MonotonicInstant.now().advanced(milliseconds: 60_000)
    guard
      case .pending(let pending) = try client.start(
        token: Secret("t"), .service(methods: [], context: nil), durationSeconds: 60, deadline: deadline),
      case .approved(let session) = try client.approval(of: pending, waitSeconds: nil, deadline: deadline)
    else { throw ServiceError.notFound }
    return session
  }
}

/// Sessions that have expired, and sessions that go on.
@Suite struct ExpiryTests {
  private static let hour: Int64 = 3_600_000
  /// The duration of all sessions here, in seconds.
  private static let duration: Int64 = 7_200

  private func signIn(_ office: HelperFixture, session: String = "1", type: String = "tty") throws -> String {
    try office.signIn(session: session, type: type) { $0 = $0.lasting(Self.duration) }
  }

  @Test func sshIsWarnedAndThenLoggedOut() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour - 610_000)
    #expect(office.seat.said == [])
    office.pass(milliseconds: 20_000)
    #expect(office.seat.said.count == 1)
    #expect(office.seat.said.first?.hasPrefix("1: You are signed out in 10 min, ") == true)
    #expect(office.seat.said.first?.hasSuffix("sudo iampassctl session renew") == true)
    office.pass(milliseconds: 590_000)
    #expect(office.logind.terminated == [])
    office.says("closed", of: id, reason: "EXPIRED")
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.seat.said.last == "1: Signed out: the session's time is over.")
  }

  /// A bus that hangs, and a session whose file is missing.
  @Test func aWarningThatCouldNotBeShownComesLater() throws {
    let office = try HelperFixture()
    _ = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour - 610_000)
    office.logind.unclear = true
    office.pass(milliseconds: 60_000)
    #expect(office.seat.said == [])
    office.logind.unclear = false
    office.pass(milliseconds: 60_000)
    #expect(office.seat.said.count == 1)
    #expect(office.seat.said.first?.hasPrefix("1: You are signed out in ") == true)
  }

  @Test func anOutageKeepsNobodySignedInForEver() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    office.pass(milliseconds: Self.hour)
    office.says(.failed(.serverFailed(status: 500)), of: id)
    office.pass(milliseconds: Self.hour)
    #expect(office.logind.terminated == [])
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aSessionFromBeforeAnUpgradeKeepsItsRule() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    let text = String(decoding: try office.ledger.read(id).encoded(), as: UTF8.self)
    let old = text.replacing("\"ends_at_expiry\":true,", with: "")
    try office.write(try #require(SessionRecord(parsing: Array(old.utf8))))
    try AtomicFile.write(Array(old.utf8), to: office.ledger.folder() + "/" + id, mode: 0o600)
    office.pass(milliseconds: 2 * Self.hour)
    office.says("closed", of: id, reason: "EXPIRED")
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == [])
    #expect(office.seat.said == [])
    #expect(office.records == [id])
  }

  @Test func aScreenThatDoesNotLockIsLoggedOutAtItsExpiry() throws {
    let office = try HelperFixture()
    let id = try signIn(office, type: "wayland")
    office.logind.locksScreens = false
    office.pass(milliseconds: 2 * Self.hour)
    office.says("closed", of: id, reason: "EXPIRED")
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aRenewedSessionGoesOnAndTheOldOneEndsAtTheService() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour - 300_000)
    let renewed = try renew(id, office)
    office.pass(milliseconds: Self.hour)
    #expect(office.service.ended == ["https://localhost/logout/\(id)"])
    #expect(office.records == [renewed])
    #expect(office.logind.terminated == [])
    office.service.answers["https://localhost/status/renewed"] = .answer(.status(.walkaway, held: false))
    office.pass(milliseconds: 10_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aRenewalStopsALogoutThatHasBegun() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour - 1_000)
    office.logind.refusesToTerminate = 1_000
    office.says("closed", of: id, reason: "EXPIRED")
    office.pass(milliseconds: 10_000)
    #expect(office.seat.said.last == "1: Signed out: the session's time is over.")
    let renewed = try renew(id, office)
    office.pass(milliseconds: 1_000)
    office.logind.refusesToTerminate = 0
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
    #expect(office.records == [renewed])
  }

  @Test func whatIsOverOrAskedToEndIsNotRenewed() throws {
    let office = try HelperFixture()
    let ids = try (1...3).map { try signIn(office, session: String($0)) }
    try office.ledger.release(ids[0])
    try office.ledger.requestLogout(ids[1])
    for id in ids.prefix(2) { #expect(throws: LedgerError.notYours) { try renew(id, office) } }
    let sudo = try office.signIn(service: "sudo")
    #expect(throws: LedgerError.notYours) { try renew(sudo, office) }
    #expect(Set(office.records) == Set(ids + [sudo]))
  }

  /// A record of another sign-in by the same user, such as sudo's.
  @Test func anotherApprovalProlongsNothing() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour - 300_000)
    try office.signIn(service: "sudo")
    _ = try signIn(office, session: "2")
    office.says("closed", of: id, reason: "EXPIRED")
    office.pass(milliseconds: 420_000)
    #expect(office.logind.terminated == ["1"])
  }

  private func renew(_ id: String, _ office: HelperFixture) throws -> String {
    let known = try office.ledger.read(id)
    let record = try office.ledger.renew(known, by: try ApprovingService.approval(), duration: 43_200)
    // Time in these tests is a number. The record has the machine's time.
    let text = String(decoding: record.encoded(), as: UTF8.self)
    let dated = text.replacing("\"created\":\(record.created)", with: "\"created\":\(office.now / 1_000)")
    try office.write(try #require(SessionRecord(parsing: Array(dated.utf8))))
    office.service.answers["https://localhost/status/renewed"] = .answer(.status(.active, held: false))
    return record.id
  }
}
