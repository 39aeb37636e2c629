import HostState
import IAMPASSClient
import Testing
import WorkerLink

@testable import HostSystem
@testable import SessionHelper

/// The end of the time in which a phone may come back.
@Suite struct WalkawayGraceTests {
  /// It is silent, as a service that holds a question, for longer than the phone may be away.
  @Test func nobodyIsLoggedOutByASilenceThatIsAnOutage() throws {
    let office = try HelperFixture { $0.walkawayGrace = 10 }
    let id = try office.signIn()
    office.pass()
    office.says("walkaway", of: id, held: true)
    for _ in 0..<2_000 where office.seat.said.isEmpty { office.pass(milliseconds: 5) }
    office.says(.failed(.serverFailed(status: 503)), of: id)
    office.service.latencies["https://localhost/status/\(id)"] = 60_000
    office.pass(milliseconds: 9_000)
    #expect(office.service.mayHoldLast)
    office.pass(milliseconds: 3_000)
    #expect(!office.service.mayHoldLast)
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == [])
    office.service.latencies = [:]
    office.says("walkaway", of: id)
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated == ["1"])
  }

  /// It was restored, and reports the end of every session. It could not say that a phone is back.
  @Test func nobodyIsLoggedOutForAWalkawayByAServiceThatHasLostItsData() throws {
    let office = try HelperFixture { $0.walkawayGrace = 60 }
    let ids = try (1...6).map { try office.signIn("u\($0)", uid: UInt32(1_000 + $0), session: String($0)) }
    office.pass(milliseconds: 10_000)
    for id in ids { office.says("walkaway", of: id) }
    office.pass(milliseconds: 10_000)
    #expect(office.seat.said.count == 6)
    for id in ids { office.says("closed", of: id) }
    office.pass(milliseconds: 300_000)
    #expect(office.logind.terminated == [])
    for id in ids { office.says("walkaway", of: id) }
    office.pass(milliseconds: 120_000)
    #expect(office.logind.terminated.count == 6)
  }
}
