import CommandSupport
import Glibc

/// How Ctrl-C and similar signals end a setup. While it asks, they end it at once. While it writes, it stops after the
/// current step, and ends each wait. While it prints results, they end it, up to the last step.
enum SetupInterruption {
  private static let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  /// Lets signals end the setup at once, because nothing is written yet.
  static func endsAtOnce() { for number in numbers { signal(number, leave) } }

  /// Makes signals be noted for ``check()`` from now on.
  static func waitsForSteps() { for number in numbers { signal(number, note) } }

  /// Lets signals end the setup while it prints results.
  static func endsTelling() { for number in numbers { signal(number, leaveTelling) } }

  /// Ignores signals, because all results are printed. So the last step and the end are not separated.
  static func endsNothing() { for number in numbers { signal(number, SIG_IGN) } }

  static var isNoted: Bool { noted != 0 }

  /// - Throws: if a signal came.
  static func check() throws(CommandProblem) {
    guard noted == 0 else { throw .setupInterrupted(128 + noted) }
  }
}

/// The signal that came; 0 if none did.
///
/// SAFETY: a handler may write a sig_atomic_t, and nobody else writes it.
nonisolated(unsafe) private var noted: sig_atomic_t = 0

private let note: @convention(c) (Int32) -> Void = { noted = $0 }

/// signal-safety(7) lists the functions that a handler may call.
private let leave: @convention(c) (Int32) -> Void = { number in
  let text: StaticString = "\niampass-server: interrupted; nothing was changed\n"
  _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
  _exit(128 + number)
}

/// The message is the one of ``CommandProblem/setupInterrupted(_:hasBegun:)``.
private let leaveTelling: @convention(c) (Int32) -> Void = { number in
  let text: StaticString = "\niampass-server: interrupted\nhint: run this again: it goes on where it stopped\n"
  _ = write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
  _exit(128 + number)
}
