import Glibc
import HostState
import IAMPASSClient
import IAMPASSProtocol
import Testing
import WorkerLink

@testable import HostSystem
@testable import SessionHelper

/// Sessions whose screen is locked instead of logging them out.
@Suite struct LockingTests {
  @Test func locksAScreenAndAsksOn() throws {
    let office = try HelperFixture { $0.onWalkaway = .lock }
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.locked == ["1"])
    #expect(office.logind.terminated == [])
    #expect(office.seat.ticketsDropped == ["alice"])
  }

  @Test(arguments: [("walkaway", 1), ("closed", 0)])
  func notesALockBecauseThePhoneLeftAndNoOther(_ word: String, _ count: Int) throws {
    let office = try HelperFixture {
      $0.onWalkaway = .lock
      $0.onEnd = .lock
    }
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.says(word, of: id)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.locked == ["1"])
    let session = try #require(office.logind.sessions["1"])
    #expect(AwayLocks(run: office.run).all.filter { $0.isOf(session) }.count == count)
  }

  /// The phone that comes back opens nothing, and the screen still asks it.
  @Test func theNoteOutlivesTheReturn() throws {
    let office = try HelperFixture { $0.onWalkaway = .lock }
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 9_000)
    office.says("active", of: id)
    office.pass(milliseconds: 9_000)
    #expect(AwayLocks(run: office.run).all.count == 1)
  }

  @Test func logsOutWhereNoLockerComes() throws {
    let office = try HelperFixture { $0.onWalkaway = .lock }
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.logind.locksScreens = false
    office.says("walkaway", of: id)
    office.pass(milliseconds: 9_000)
    #expect(office.logind.terminated == [])
    office.pass(milliseconds: 3_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func aLockerHasItsTimeAfterASleepToo() throws {
    let office = try HelperFixture { $0.onEnd = .lock }
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.logind.locksScreens = false
    office.says("closed", of: id)
    office.pass(milliseconds: 5_200)
    #expect(office.logind.locked == ["1"])
    office.sleep(seconds: 3_600)
    office.pass(milliseconds: 3_000)
    office.logind.locksScreens = true
    office.pass(milliseconds: 9_000)
    #expect(office.logind.terminated == [])
    #expect(office.log.count("locked user=alice service=sshd") == 1)
  }

  /// The phone may be back.
  @Test func aLockFromBeforeASleepLogsNobodyOutBeforeTheServiceIsHeard() throws {
    let office = try HelperFixture { $0.onWalkaway = .lock }
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.logind.locksScreens = false
    office.says("walkaway", of: id)
    office.pass(milliseconds: 5_200)
    #expect(office.logind.locked == ["1"])
    office.says(.failed(.serverFailed(status: 503)), of: id)
    office.sleep(seconds: 3_600)
    office.pass(milliseconds: 60_000)
    #expect(office.logind.terminated == [])
    office.says("walkaway", of: id)
    office.pass(milliseconds: 90_000)
    #expect(office.logind.terminated == ["1"])
  }

  @Test func leavesItWhereNoLockerComesAndThatIsConfigured() throws {
    let office = try HelperFixture {
      $0.onWalkaway = .lock
      $0.onLockFailure = .ignore
    }
    let id = try office.signIn(type: "wayland")
    office.logind.locksScreens = false
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == [])
    #expect(office.log.count("not locked within 5 s") == 1)
  }

  @Test func doesNotLogOutForALockerThatFailsAfterThePhoneIsBack() throws {
    let office = try HelperFixture { $0.onWalkaway = .lock }
    let id = try office.signIn(type: "wayland")
    office.says("active", of: id, held: true)
    office.service.latency = 1_000
    office.pass()
    office.logind.locksScreens = false
    office.says("walkaway", of: id, held: true)
    office.pass(milliseconds: 3_000)
    #expect(office.logind.locked == ["1"])
    office.says("active", of: id, held: true)
    office.pass(milliseconds: 20_000)
    #expect(office.logind.terminated == [])
  }

  @Test func anOutageNeverLogsOutForALockerThatDoesNotCome() throws {
    let office = try HelperFixture()
    let id = try office.signIn(type: "wayland")
    office.pass()
    office.logind.locksScreens = false
    office.says(.failed(.serverFailed(status: 500)), of: id)
    office.pass(milliseconds: 17 * 60_000)
    #expect(office.logind.locked == ["1"])
    #expect(office.logind.terminated == [])
  }

  @Test func warnsOnTheTerminalBeforeAGracePeriod() throws {
    let office = try HelperFixture { $0.walkawayGrace = 30 }
    let id = try office.signIn()
    office.pass()
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000)
    #expect(office.seat.said == ["1: Your phone left: you are signed out in 30 s unless it comes back."])
    #expect(office.logind.terminated == [])
    office.pass(milliseconds: 30_000)
    #expect(office.logind.terminated == ["1"])
  }
}
