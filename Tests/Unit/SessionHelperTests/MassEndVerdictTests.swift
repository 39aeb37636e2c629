import Testing

@testable import HostSystem
@testable import SessionHelper
@testable import WorkerLink

/// Which ends are acted on, by what the service says of the other sessions.
@Suite struct MassEndVerdictTests {
  /// This many sessions of as many users, the first of them of this user.
  private func sessions(
    _ count: Int, _ standing: MassEndVerdict.Standing, from user: UInt32, created: Int64 = 0
  ) -> [MassEndVerdict.Session] {
    (0..<UInt32(count)).map { MassEndVerdict.Session(user: user + $0, created: created, standing: standing) }
  }

  private func verdict(_ sessions: [MassEndVerdict.Session]...) -> MassEndVerdict {
    MassEndVerdict(sessions.flatMap(\.self), MassEndGuard(), at: 1_000)
  }

  @Test func oneEndAmongSoundSessionsIsActedOn() {
    #expect(verdict(sessions(1, .ending, from: 1), sessions(9, .sound, from: 100)).allowsEnding)
  }

  @Test func endsOfAllAreNotActedOn() {
    let verdict = verdict(sessions(5, .ending, from: 1), sessions(1, .sound, from: 100))
    #expect(!verdict.allowsEnding)
    #expect(!verdict.isClear)
    #expect(verdict.bad.count == 5)
  }

  @Test func whatWasLeftAloneEndsOnceAsManyOfThatTimeAreSound() {
    let again = sessions(2, .endingAgain(since: 500), from: 1)
    #expect(verdict(again, sessions(2, .sound, from: 100)).allowsEnding(leftAsideSince: 500))
    #expect(!verdict(again, sessions(1, .sound, from: 100)).allowsEnding(leftAsideSince: 500))
  }

  @Test func whoeverSignedInLaterShowsNothingOfThatTime() {
    let later = sessions(9, .sound, from: 100, created: 501)
    let verdict = verdict(sessions(2, .endingAgain(since: 500), from: 1), later)
    #expect(!verdict.allowsEnding(leftAsideSince: 500))
    #expect(!verdict.isClear)
  }

  @Test func aUserWhoIsLeftAloneIsNotSoundByAnotherSession() {
    let verdict = verdict(sessions(2, .leftAside, from: 1), sessions(3, .sound, from: 1))
    #expect(!verdict.allowsEnding(leftAsideSince: 500))
  }
}
