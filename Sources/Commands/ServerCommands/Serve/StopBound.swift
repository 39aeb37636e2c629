import Glibc
import Synchronization

/// The bound on a stop: the kernel's timer ends the process, even if every thread hangs. Everything that was confirmed is
/// on the disk.
///
/// Whoever begins the stop first sets the timer, and with it the exit code: a signal's handler, before any task has run, or
/// the server itself. Nothing later prolongs it.
enum StopBound {
  // Computed: a handler must not be the first to use a stored one.
  private static var notBegun: Int { 0 }
  private static var begun: Int { 1 }
  private static var hurried: Int { 2 }

  /// Makes the timer end the process. Call it before a stop can begin.
  ///
  /// - Parameter seconds: the longest time of a stop by a signal.
  static func prepare(seconds: Int64) {
    longestStop.store(UInt32(seconds), ordering: .sequentiallyConsistent)
    exitCodeOfStop.store(0, ordering: .sequentiallyConsistent)
    stage.store(notBegun, ordering: .sequentiallyConsistent)
    signal(SIGALRM, endProcess)
  }

  /// A signal's handler calls this. signal-safety(7) lists alarm(2), and an atomic number has no lock.
  static func beginBySignal() {
    guard advance(from: notBegun, to: begun) else { return }
    alarm(longestStop.load(ordering: .sequentiallyConsistent))
  }

  /// Begins the server's own stop. If a signal has begun one, the rest of that is bounded by `seconds`.
  static func begin(seconds: Int64, exitCode: Int32) {
    guard advance(from: notBegun, to: hurried) else { return hurry(seconds: seconds) }
    exitCodeOfStop.store(exitCode, ordering: .sequentiallyConsistent)
    alarm(UInt32(seconds))
  }

  /// Bounds the rest of a signal's stop, once.
  static func hurry(seconds: Int64) {
    guard advance(from: begun, to: hurried) else { return }
    let left = alarm(UInt32(seconds))
    if left > 0, left < seconds { alarm(left) }
  }

  private static func advance(from earlier: Int, to later: Int) -> Bool {
    stage.compareExchange(expected: earlier, desired: later, ordering: .sequentiallyConsistent).exchanged
  }
}

// A handler must not be the first to use one of these: `prepare` is.
private let stage = Atomic<Int>(0)
private let longestStop = Atomic<UInt32>(0)
private let exitCodeOfStop = Atomic<Int32>(0)

private let endProcess: @convention(c) (Int32) -> Void = { _ in
  _exit(exitCodeOfStop.load(ordering: .sequentiallyConsistent))
}
