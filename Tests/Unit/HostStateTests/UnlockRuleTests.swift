import Testing

@testable import HostState
@testable import HostSystem

/// Which locked screens ask the phone although nobody listed their PAM service.
@Suite struct UnlockRuleTests {
  private let inSession = UnlockRule.Caller.user(
    ProcessUnits(groups: Array("0::/user.slice/user-1000.slice/session-3.scope\n".utf8)))

  private func session(
    _ id: String = "3", uid: UInt32 = 1_000, active: Bool = true, remote: Bool = false, seat: String = "seat0"
  ) -> LogindSession {
    LogindSession(
      id: id, leader: 100, uid: uid, sessionClass: "user", type: "wayland", isRemote: remote, seat: seat,
      scope: "session-\(id).scope", isActive: active)
  }

  private func locked(_ id: String = "3", uid: UInt32 = 1_000, leader: Int32 = 100) -> AwayLock {
    AwayLock(
      uid: uid,
      binding: SessionRecord.Binding(logindSession: id, leader: ProcessIdentity(pid: leader, startTime: 1)))
  }

  private func asks(
    _ policy: UnlockPolicy, _ service: String = "swaylock", by caller: UnlockRule.Caller? = nil,
    in sessions: [LogindSession]? = nil, away: [AwayLock] = []
  ) -> Bool {
    let found = UnlockRule(policy).session(
      opensFor: service, of: 1_000, by: caller ?? inSession, in: sessions ?? [session()], away: away)
    return found != nil
  }

  private func inUnit(_ unit: String) -> UnlockRule.Caller {
    .user(ProcessUnits(groups: Array("0::/user.slice/user-1000.slice/\(unit)/x.service\n".utf8)))
  }

  @Test func asksForNoneUnlessToldTo() {
    #expect(!asks(.off, away: [locked()]))
    #expect(!asks(.off, "gdm-password", by: .root(seat: nil), away: [locked()]))
  }

  @Test func approvedAsksForEveryKnownLocker() {
    #expect(asks(.approved))
    #expect(asks(.approved, "gdm-password", by: .root(seat: "seat0")))
    for locker in ["physlock", "vlock"] { #expect(asks(.approved, locker, by: .root(seat: nil))) }
  }

  @Test func anUnknownServiceNeedsTheHelpersNote() {
    #expect(!asks(.approved, "waylock"))
    #expect(asks(.approved, "waylock", away: [locked()]))
    #expect(asks(.walkaway, "waylock", away: [locked()]))
  }

  @Test func walkawayNeedsTheHelpersNoteOfThisVerySession() {
    #expect(!asks(.walkaway))
    #expect(asks(.walkaway, away: [locked()]))
    for other in [locked("4"), locked(uid: 1_001), locked(leader: 101)] { #expect(!asks(.walkaway, away: [other])) }
  }

  @Test func aRequestOfAnotherSessionOpensNothing() {
    #expect(!asks(.approved, by: inUnit("session-5.scope"), away: [locked()]))
    #expect(!asks(.approved, by: .user(ProcessUnits(groups: [])), away: [locked()]))
    #expect(!asks(.approved, by: inUnit("user@1001.service"), away: [locked()]))
  }

  @Test func aLockerInTheUsersServiceManagerBelongsToTheSession() {
    #expect(asks(.approved, "kde", by: inUnit("user@1000.service")))
  }

  @Test func theUserMustBePresent() {
    for absent in [session(active: false), session(remote: true), session(uid: 1_001)] {
      #expect(!asks(.approved, in: [absent], away: [locked()]))
    }
    #expect(!asks(.approved, in: [], away: [locked()]))
  }

  @Test func rootsOtherProgramsAreNotLockers() {
    for service in ["sudo", "login", "sshd", "lightdm", "polkit-1", "kde", "swaylock"] {
      #expect(!asks(.approved, service, by: .root(seat: nil), away: [locked()]), "\(service)")
    }
    #expect(!asks(.approved, "polkit-1", away: [locked()]))
  }

  @Test func aGreeterAtAnotherSeatIsNotTheLockScreen() {
    #expect(!asks(.approved, "gdm-password", by: .root(seat: "seat1"), away: [locked()]))
  }

  /// A greeter that is shown elsewhere, by XDMCP or remote login, signs in by the same service.
  @Test func aGreeterWithoutASeatIsNotTheLockScreen() {
    #expect(!asks(.approved, "gdm-password", by: .root(seat: nil), away: [locked()]))
  }

  @Test(arguments: [
    "user@1001.service/app.slice/session-3.scope", "session-5.scope/session-3.scope",
    "session-5.scope/user@1000.service",
  ])
  func aGroupThatOnlyHasAUnitsNameOpensNothing(_ group: String) {
    #expect(!asks(.approved, by: inUnit(group), away: [locked()]))
  }
}
