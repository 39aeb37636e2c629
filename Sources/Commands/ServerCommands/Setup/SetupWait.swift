import CommandSupport
import HostSystem

/// A bounded wait of a setup. It says what it waits for, unless that comes at once.
final class SetupWait {
  /// Milliseconds without a word.
  private static let silence: Int64 = 2_000

  private let line: String
  private let heedsSignals: Bool
  private let begin = MonotonicInstant.now()
  private var isTold = false

  /// - Parameters:
  ///   - what: as in "waiting until the service listens".
  ///   - seconds: the bound, which the caller keeps.
  ///   - heedsSignals: false while a setup puts back what was.
  init(_ what: String, seconds: Int64, heedsSignals: Bool = true) {
    line = "waiting \(what), \(seconds) seconds at most"
    self.heedsSignals = heedsSignals
  }

  /// Asked again and again; false once a signal came.
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
