import HostState
import IAMPASSClient
import Testing
import WorkerLink

@testable import HostSystem
@testable import SessionHelper

/// Desktops that are begun from a console: logind's session has the type `tty`, until the desktop sets another one.
@Suite struct ConsoleDesktopTests {
  /// Alice has signed in at a console of this computer, and is watched.
  private func console(
    lasting duration: Int64 = 43_200, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> (office: HelperFixture, id: String) {
    let office = try HelperFixture(change)
    let id = try office.signIn(type: "x11", service: "login") { $0 = $0.lasting(duration) }
    office.logind.setType("1", "tty")
    office.pass()
    return (office, id)
  }

  @Test func aDesktopThatSetsItsTypeLaterIsLocked() throws {
    let (office, id) = try console { $0.onWalkaway = .lock }
    office.logind.setType("1", "wayland")
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000, looking: false)
    #expect(office.logind.locked == ["1"])
    #expect(office.logind.terminated == [])
  }

  @Test func aConsoleIsLoggedOutAfterItsDesktopHasEnded() throws {
    let (office, id) = try console { $0.onWalkaway = .lock }
    office.logind.setType("1", "wayland")
    office.pass(milliseconds: 60_000)
    office.logind.setType("1", "tty")
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000, looking: false)
    #expect(office.logind.locked == [])
    #expect(office.logind.terminated == ["1"])
  }

  /// By default an outage locks only what has a screen at a seat.
  @Test func anOutageLocksADesktopThatSetsItsTypeLater() throws {
    let (office, id) = try console()
    office.logind.setType("1", "wayland")
    office.says(.failed(.serverFailed(status: 500)), of: id)
    office.pass(milliseconds: 17 * 60_000, looking: false)
    #expect(office.logind.locked == ["1"])
    #expect(office.logind.terminated == [])
  }

  /// With five users, an end waits for the verdict on mass ends.
  @Test func anEndThatWaitedForAVerdictLocksTheDesktop() throws {
    let (office, id) = try console { $0.onEnd = .lock }
    for number in 2...5 { try office.signIn("u\(number)", uid: UInt32(1_000 + number), session: String(number)) }
    office.pass(milliseconds: 10_000)
    office.logind.setType("1", "wayland")
    office.says("closed", of: id)
    office.pass(milliseconds: 30_000, looking: false)
    #expect(office.logind.locked == ["1"])
    #expect(office.logind.terminated == [])
  }

  /// The lock is noted as done, so that the next helper does not repeat it.
  @Test func aLockInPlaceOfALogoutIsNotRepeatedAfterARestart() throws {
    let (office, id) = try console { $0.onWalkaway = .lock }
    office.logind.setType("1", "wayland")
    office.says("walkaway", of: id)
    office.pass(milliseconds: 20_000, looking: false)
    office.restart()
    office.pass(milliseconds: 20_000)
    #expect(office.logind.locked == ["1"])
  }

  @Test func theWarningNamesWhatWillHappen() throws {
    let (office, id) = try console {
      $0.onWalkaway = .lock
      $0.walkawayGrace = 30
    }
    office.logind.setType("1", "wayland")
    office.says("walkaway", of: id)
    office.pass(milliseconds: 10_000, looking: false)
    #expect(office.seat.said == ["1: Your phone left: this screen locks in 30 s unless it comes back."])
  }

  /// A screen that locks at its expiry needs no warning of a logout.
  @Test func aDesktopIsNotWarnedOfALogoutAtItsExpiry() throws {
    let (office, id) = try console(lasting: 7_200)
    office.logind.setType("1", "wayland")
    office.pass(milliseconds: 7_190_000)
    #expect(office.seat.said == [])
    office.says("closed", of: id, reason: "EXPIRED")
    office.pass(milliseconds: 20_000)
    #expect(office.logind.locked == ["1"])
    #expect(office.logind.terminated == [])
  }
}
