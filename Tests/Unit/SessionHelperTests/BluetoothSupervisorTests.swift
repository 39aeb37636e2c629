import Glibc
import HostState
import HostSystem
import PresenceLink
import Testing

@testable import SessionHelper

/// What is done to sessions at seats when phones come and go.
@Suite struct BluetoothSupervisorTests {
  /// Alice's phone has answered, and goes.
  private func deskThatIsLeft(_ change: (inout Configuration) -> Void = { _ in }) throws -> PresenceFixture {
    let desk = try PresenceFixture(change)
    desk.sit()
    desk.pass(seconds: 60)
    desk.probe.finds = { _ in .silent }
    return desk
  }

  @Test func aPhoneThatGoesLocksItsUsersScreenAfterAWarning() throws {
    let desk = try deskThatIsLeft()
    #expect(try desk.state() == .armed)
    desk.pass(seconds: 25)
    #expect(desk.logind.locked == [])
    desk.pass(seconds: 40)
    #expect(desk.logind.locked == ["1"])
    #expect(desk.logind.terminated == [])
    #expect(desk.seat.said.count == 1)
    #expect(
      desk.seat.said.allSatisfy { $0.hasPrefix("1: Your phone is out of Bluetooth's reach: this screen locks in") })
    #expect(desk.seat.ticketsDropped == ["alice"])
    #expect(try desk.state() == .left)
    #expect(desk.log.count("presence user=alice: armed") == 1)
    #expect(desk.log.count("presence user=alice: left") == 1)
    #expect(desk.log.count("locked user=alice logind_session=1 cause=presence") == 1)
    #expect(AwayLocks(run: desk.run).all.map(\.binding.logindSession) == ["1"])
  }

  @Test func aPhoneThatHasNotAnsweredYetLocksNothing() throws {
    let desk = try PresenceFixture()
    desk.probe.finds = { _ in .silent }
    desk.sit()
    desk.pass(seconds: 3_600)
    #expect(desk.logind.locked == [])
    #expect(try desk.state() == .unarmed)
  }

  @Test func aPhoneThatComesBackUnlocksNothingAndMayGoAgain() throws {
    let desk = try deskThatIsLeft()
    desk.pass(seconds: 90)
    desk.probe.finds = { _ in .near }
    desk.pass(seconds: 60)
    #expect(try desk.state() == .armed)
    #expect(desk.logind.locked == ["1"])
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 90)
    #expect(desk.logind.locked == ["1", "1"])
  }

  @Test func whoeverIsGoneAndUnlocksByPasswordStaysUnlocked() throws {
    let desk = try deskThatIsLeft()
    desk.pass(seconds: 3_600)
    #expect(desk.logind.locked == ["1"])
  }

  @Test func anAnswerInTimeCallsItOff() throws {
    let desk = try deskThatIsLeft()
    desk.pass(seconds: 30)
    desk.probe.finds = { _ in .near }
    desk.pass(seconds: 600)
    #expect(desk.logind.locked == [])
    #expect(try desk.state() == .armed)
  }

  @Test func remoteSessionsAndOtherUsersAreLeftAlone() throws {
    let desk = try deskThatIsLeft { $0.onPresenceLeft = .logout }
    desk.sit(session: "2", type: "tty", seat: "", isRemote: true)
    desk.sit(session: "3", type: "x11", seat: "seat0", isRemote: true)
    desk.sit(1_001, session: "4")
    desk.pass(seconds: 90)
    #expect(desk.logind.terminated == ["1"])
  }

  /// SDDM shows no greeter again if logind ends its session. A password or SDDM by itself has opened this one.
  @Test(arguments: ["sddm", "sddm-autologin"])
  func aSessionOfSDDMIsAskedToLeave(service: String) throws {
    let desk = try PresenceFixture { $0.onPresenceLeft = .logout }
    desk.sit(service: service)
    desk.logind.whenAsked = { $0.sessions = [:] }
    desk.pass(seconds: 60)
    desk.probe.finds = { _ in .silent }
    desk.pass(seconds: 90)
    #expect(desk.logind.askedToEnd == ["session-1.scope"])
    #expect(desk.logind.terminated == [])
  }

  @Test func nobodyIsLookedForWhoSitsNowhereHere() throws {
    let desk = try PresenceFixture()
    desk.sit(type: "tty", seat: "", isRemote: true)
    desk.sit(1_001, session: "2")
    desk.pass(seconds: 60)
    #expect(desk.probe.asked.isEmpty)
    #expect(try desk.state() == nil)
  }

  @Test func aConsoleStaysWithLockAndIsLoggedOutWithLogout() throws {
    for (action, terminated) in [(Configuration.EndAction.lock, []), (.logout, ["2", "1"]), (.ignore, [])] {
      let desk = try deskThatIsLeft { $0.onPresenceLeft = action }
      desk.sit(session: "2", type: "tty")
      desk.pass(seconds: 90)
      #expect(Set(desk.logind.terminated) == Set(terminated), "\(action)")
      #expect(desk.logind.locked == (action == .lock ? ["1"] : []), "\(action)")
    }
  }

  @Test func aScreenThatDoesNotLockFollowsOnLockFailure() throws {
    for (action, terminated) in [(Configuration.LockFailureAction.logout, ["1"]), (.ignore, [])] {
      let desk = try deskThatIsLeft { $0.onLockFailure = action }
      desk.logind.locksScreens = false
      desk.pass(seconds: 90)
      #expect(desk.logind.locked == ["1"])
      #expect(desk.logind.terminated == terminated, "\(action)")
    }
  }

  @Test func anAdapterThatIsOffEndsInBlindnessAndLocks() throws {
    let desk = try deskThatIsLeft()
    desk.probe.finds = { _ in .unknown("EHOSTUNREACH") }
    desk.logind.locksScreens = false
    desk.pass(seconds: 290)
    #expect(desk.logind.locked == [])
    desk.pass(seconds: 60)
    #expect(desk.logind.locked == ["1"])
    // Nobody has said that the user left.
    #expect(desk.logind.terminated == [])
    #expect(try desk.state() == .blind)
    #expect(desk.log.count("presence user=alice: blind, the last look found: unknown (EHOSTUNREACH)") == 1)
    #expect(desk.seat.said.allSatisfy { $0.hasPrefix("1: This computer cannot look for your phone") })
    #expect(desk.seat.said.count == 1)
  }

  @Test func aProbeThatNeverAnswersEndsInBlindness() throws {
    let desk = try deskThatIsLeft { $0.onPresenceUnknown = .logout }
    desk.probe.finds = { _ in nil }
    desk.pass(seconds: 400)
    #expect(desk.logind.terminated == ["1"])
  }

  @Test func sessionsThatCannotBeListedAreActedUponOnceTheyCan() throws {
    let desk = try deskThatIsLeft()
    desk.pass(seconds: 30)
    desk.logind.refusesToList = 12
    desk.pass(seconds: 60)
    #expect(desk.logind.refusesToList == 0)
    desk.pass(seconds: 30)
    #expect(desk.logind.locked == ["1"])
    #expect(desk.log.count("sessions of user=alice cannot be looked at") == 1)
  }

  @Test func aPhoneThatIsBackBeforeTheSessionsCouldBeListedLocksNothing() throws {
    let desk = try deskThatIsLeft()
    desk.logind.refusesToList = 1_000
    desk.pass(seconds: 60)
    #expect(desk.log.count("presence user=alice: left") == 1)
    desk.probe.finds = { _ in .near }
    desk.pass(seconds: 30)
    desk.logind.refusesToList = 0
    desk.pass(seconds: 120)
    #expect(desk.logind.locked == [])
  }

  @Test func aThousandChangesAnHourLockNobodyOut() throws {
    let desk = try deskThatIsLeft { $0.onPresenceLeft = .logout }
    var isNear = false
    for _ in 0..<1_000 {
      isNear.toggle()
      desk.probe.finds = { _ in isNear ? .near : .silent }
      desk.pass(seconds: 4)
    }
    #expect(desk.logind.terminated == [])
    #expect(desk.log.lines.count { $0.priority < LOG_DEBUG } < 10)
  }

  @Test func presenceOffLooksForNoPhone() throws {
    let desk = try deskThatIsLeft()
    try desk.configure { $0.presence = .off }
    let before = desk.probe.asked.count
    desk.pass(seconds: 600)
    #expect(desk.probe.asked.count == before)
    #expect(desk.logind.locked == [])
    #expect(try desk.state() == nil)
  }
}
