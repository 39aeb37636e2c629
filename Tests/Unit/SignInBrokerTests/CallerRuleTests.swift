import HostState
import HostSystem
import SignInBroker
import Testing

@Suite struct CallerRuleTests {
  private let alice = SystemUser(name: UnixUsername(validating: "alice")!, uid: 1_000)
  private let bob = SystemUser(name: UnixUsername(validating: "bob")!, uid: 1_001)

  private func session(
    uid: UInt32 = 1_000, active: Bool = true, remote: Bool = false, closing: Bool = false, kind: String = "user"
  ) -> LogindSession {
    LogindSession(
      id: "3", leader: 100, uid: uid, sessionClass: kind, type: "wayland", isRemote: remote, seat: "seat0",
      scope: "session-3.scope", isClosing: closing, isActive: active)
  }

  private func refusal(
    _ caller: UInt32, _ user: SystemUser?, _ sessions: [LogindSession], service: String = "swaylock"
  ) -> CallerRefusal? {
    do throws(CallerRefusal) {
      let found = try CallerRule(callerUID: caller).check(
        user, service: service, listed: ["swaylock"], sessions: { sessions })
      #expect(found == user)
      return nil
    } catch { return error }
  }

  @Test func aUserWithAnActiveLocalSessionAsksForThemselves() {
    #expect(refusal(1_000, alice, [session(uid: 7), session()]) == nil)
  }

  @Test func aUserNeverAsksForAnother() {
    #expect(refusal(1_000, bob, [session(), session(uid: 1_001)]) == .anotherUser)
  }

  @Test func strangersDoNotLearnWhichNamesExist() {
    #expect(refusal(1_000, nil, [session()]) == .anotherUser)
  }

  @Test func asksOnlyForUsersWithAnActiveSessionHere() {
    let others = [
      session(uid: 1_001), session(active: false), session(remote: true), session(closing: true),
      session(kind: "greeter"), session(kind: "manager"),
    ]
    #expect(refusal(1_000, alice, others) == .noActiveSession)
    #expect(refusal(1_000, alice, []) == .noActiveSession)
  }

  @Test func aUidWithoutASessionHereIsNotPresent() {
    let rule = CallerRule(callerUID: 1_000)
    #expect(rule.isPresent(in: [session(uid: 7), session()]))
    #expect(!rule.isPresent(in: [session(uid: 7), session(active: false)]))
    #expect(!CallerRule(callerUID: 100_000).isPresent(in: [session()]))
  }

  @Test func rootNamesAnyoneWhomTheSystemKnows() {
    #expect(refusal(0, bob, []) == nil)
    #expect(refusal(0, nil, []) == .unknownUser)
  }

  @Test func anUnlistedServiceIsNotServedNotEvenForRoot() {
    #expect(refusal(0, alice, [], service: "sudo") == .notListed)
    #expect(refusal(1_000, alice, [session()], service: "sudo") == .notListed)
  }

  private func refusalToUnlock(_ caller: UInt32, _ user: SystemUser?, opens: Bool) -> CallerRefusal? {
    do throws(CallerRefusal) {
      _ = try CallerRule(callerUID: caller).check(
        user, service: "waylock", listed: ["swaylock"], sessions: { [session()] }, unlocks: { _ in opens })
      return nil
    } catch { return error }
  }

  @Test func anUnlistedLockerIsServedOnlyIfItOpensALockedScreen() {
    #expect(refusalToUnlock(1_000, alice, opens: true) == nil)
    #expect(refusalToUnlock(1_000, alice, opens: false) == .notListed)
  }

  @Test func anUnlockIsForTheCallersOwnScreen() {
    #expect(refusalToUnlock(1_000, bob, opens: true) == .anotherUser)
    #expect(refusalToUnlock(1_001, bob, opens: true) == .noActiveSession)
    #expect(refusalToUnlock(0, alice, opens: true) == .notListed)
  }
}
