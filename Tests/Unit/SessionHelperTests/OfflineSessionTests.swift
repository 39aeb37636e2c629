import Glibc
import HostSystem
import IAMPASSClient
import Testing

@testable import HostState
@testable import SessionHelper

/// Sessions that a recovery code opened: the service does not know of them.
@Suite struct OfflineSessionTests {
  private static let hour: Int64 = 3_600_000

  private func signIn(_ office: HelperFixture, type: String = "tty", duration: Int64 = 7_200) throws -> String {
    try office.signIn(type: type) { record in
      var offline = SessionRecord(
        id: record.id, user: record.user, uid: record.uid, service: record.service, remoteHost: record.remoteHost,
        tty: nil, session: nil, process: record.process, parent: record.parent, created: record.created,
        duration: duration, opensSession: record.opensSession)
      offline.isClaimed = record.isClaimed
      offline.binding = record.binding
      record = offline
    }
  }

  @Test func theServiceIsNeverAskedAboutIt() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    #expect(try office.ledger.read(id).isOffline)
    office.pass(milliseconds: Self.hour)
    #expect(office.service.asked == 0 && office.service.marksAsked == 0)
    #expect(office.logind.terminated == [], "an unreachable service is not what ends it")
    #expect(office.log.count("cannot be asked") == 0 && office.log.count("cannot ask") == 0)
    #expect(try office.open.ids().isEmpty, "nothing is to be ended after a restart")
  }

  @Test func itEndsWithItsTime() throws {
    let office = try HelperFixture()
    _ = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour - 60_000)
    #expect(office.logind.terminated == [])
    #expect(office.seat.said.count == 1)
    office.pass(milliseconds: 180_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.service.ended == [])
    #expect(office.records == [])
  }

  @Test func itsTimeEndsItThoughOthersStay() throws {
    let office = try HelperFixture { $0.onExpiry = .ignore }
    _ = try signIn(office)
    office.pass(milliseconds: 2 * Self.hour + 180_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aScreenIsLockedWithItsTime() throws {
    let office = try HelperFixture()
    _ = try signIn(office, type: "wayland")
    office.pass(milliseconds: 2 * Self.hour + 180_000)
    #expect(office.logind.locked == ["1"] && office.logind.terminated == [])
  }

  @Test func aRestartOfTheHelperChangesNothing() throws {
    let office = try HelperFixture()
    _ = try signIn(office)
    office.pass(milliseconds: Self.hour)
    office.restart()
    office.pass(milliseconds: Self.hour + 180_000)
    #expect(office.logind.terminated == ["1"])
    #expect(office.service.asked == 0)
  }

  @Test func anAdministratorEndsIt() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    office.pass(milliseconds: 60_000)
    try office.ledger.requestLogout(id)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func theRecordOfAnAbandonedSignInGoes() throws {
    let office = try HelperFixture()
    let id = try signIn(office)
    try office.ledger.release(id)
    office.pass(milliseconds: 60_000)
    #expect(office.records == [] && office.service.ended == [])
  }
}
