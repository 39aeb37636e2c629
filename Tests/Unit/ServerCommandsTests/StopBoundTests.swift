import Glibc
import Testing

@testable import ServerCommands

/// The timer is the process's: no other test may use it. None of these times passes.
@Suite(.serialized) struct StopBoundTests {
  private static let longest: Int64 = 50_000

  /// What is left of the timer, which this stops.
  private func left() -> UInt32 { alarm(0) }

  /// Its handler has run when this returns. Dispatch's threads, which tests run on, block signals.
  private func raiseUnblocked() {
    var mask = sigset_t()
    var before = sigset_t()
    sigemptyset(&mask)
    sigaddset(&mask, SIGUSR2)
    pthread_sigmask(SIG_UNBLOCK, &mask, &before)
    raise(SIGUSR2)
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  /// Gives the work a signal that begins a stop. No task has taken it when it returns.
  private func withStop(longest: Int64 = Self.longest, _ work: (_ raiseIt: () -> Void) -> Void) throws {
    StopBound.prepare(seconds: longest)
    let signals = try Signals([SIGUSR2], beginStop: true)
    defer {
      alarm(0)
      signal(SIGUSR2, SIG_DFL)
      signal(SIGALRM, SIG_DFL)
    }
    work { raiseUnblocked() }
    withExtendedLifetime(signals) {}
  }

  @Test func theHandlerItselfSetsTheTimer() throws {
    try withStop { raiseIt in
      raiseIt()
      #expect(left() > 0)
    }
  }

  @Test func aFurtherSignalDoesNotSetItAgain() throws {
    try withStop { raiseIt in
      raiseIt()
      #expect(left() > 0)
      raiseIt()
      #expect(left() == 0)
    }
  }

  @Test func aSignalDoesNotSetItAgainInTheServersOwnStop() throws {
    try withStop { raiseIt in
      StopBound.begin(seconds: Self.longest, exitCode: EX_CONFIG)
      #expect(left() > 0)
      raiseIt()
      #expect(left() == 0)
    }
  }

  @Test func theEndOfTheDrainDelayShortensItAlone() throws {
    for (longest, rest) in [(Self.longest, Self.longest / 2), (Self.longest / 2, Self.longest)] {
      try withStop(longest: longest) { raiseIt in
        raiseIt()
        StopBound.hurry(seconds: rest)
        let bound = left()
        #expect(bound > 0 && bound <= Self.longest / 2)
      }
    }
  }

  @Test func anotherSignalSetsNone() throws {
    StopBound.prepare(seconds: Self.longest)
    let signals = try Signals([SIGUSR2])
    defer {
      signal(SIGUSR2, SIG_DFL)
      signal(SIGALRM, SIG_DFL)
    }
    raiseUnblocked()
    #expect(left() == 0)
    withExtendedLifetime(signals) {}
  }
}
