import CommandSupport
import HostSystem

/// A bounded wait of a setup. It prints what it waits for, unless that comes soon.
final class SetupWait {
  /// The time before it prints that, in milliseconds.
  private static let silence: Int64 = 2_000

  private let line: String
  private let heedsSignals: Bool
  private let begin = MonotonicInstant.now()
  private var isTold = false

  /// - Parameters:
  ///   - what: what is awaited, as in "waiting until the service listens".
  ///   - seconds: the bound, which the caller must keep.
  ///   - heedsSignals: whether a signal ends the wait. False while a setup restores files.
  init(_ what: String, seconds: Int64, heedsSignals: Bool = true) {
    line = "waiting \(what), \(seconds) seconds at most"
    self.heedsSignals = heedsSignals
  }

  /// Whether to go on waiting; false once a signal came. Call it repeatedly.
  func goesOn() -> Bool {
    if !isTold, MonotonicInstant.now().milliseconds(since: begin) > Self.silence {
      isTold = true
      Terminal.say(line)
    }
    return !heedsSignals || !SetupInterruption.isNoted
  }

  /// - Throws: if a signal ended the wait.
  func check() throws(CommandProblem) { if heedsSignals { try SetupInterruption.check() } }
}
