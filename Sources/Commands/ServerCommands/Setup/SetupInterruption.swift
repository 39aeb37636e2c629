import CommandSupport
import Glibc

/// What Ctrl-C and its kind do to a setup: while it asks, they end it; while it writes, it stops after the step at work, and
/// ends each wait; while it tells, they end it, up to the last step.
enum SetupInterruption {
  private static let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  /// Nothing is written yet.
  static func endsAtOnce() { for number in numbers { signal(number, leave) } }

  /// From now on ``check()`` tells.
  static func waitsForSteps() { for number in numbers { signal(number, note) } }

  /// All that is left is to be told.
  static func endsTelling() { for number in numbers { signal(number, leaveTelling) } }

  /// All is told; whoever runs it again begins something else. So the last step and the end are not parted.
  static func endsNothing() { for number in numbers { signal(number, SIG_IGN) } }

  static var isNoted: Bool { noted != 0 }

  /// - Throws: if a signal came.
  static func check() throws(CommandProblem) {
    guard noted == 0 else { throw .setupInterrupted(128 + noted) }
  }
}

/// The signal that came; 0: none did.
///
/// SAFETY: a handler may write a sig_atomic_t, and nobody else writes it.
nonisolated(unsafe) private var noted: sig_atomic_t = 0

private let note: @convention(c) (Int32) -> Void = { noted = $0 }

/// What a handler may call is listed in signal-safety(7).
private let leave: @convention(c) (Int32) -> Void = { number in
  let text: StaticString = "\niampass-server: interrupted; nothing was changed\n"
  _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
  _exit(128 + number)
}

/// As ``CommandProblem/setupInterrupted(_:hasBegun:)`` says it.
private let leaveTelling: @convention(c) (Int32) -> Void = { number in
  let text: StaticString = "\niampass-server: interrupted\nhint: run this again: it goes on where it stopped\n"
  _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
  _exit(128 + number)
}
