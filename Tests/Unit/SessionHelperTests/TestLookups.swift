@testable import SessionHelper

/// Looks users up in the test's own process.
final class TestLookups: UserLookups {
  /// Whether the system answers about nobody.
  var isSilent = false
  /// Set by a look-up that stands for one that never returns: nothing is told any more.
  var hangs = false
  private(set) var count = 0

  func answer(_ work: (_ tell: ([UInt8]) -> Void) -> Void) -> LookupAnswer {
    count += 1
    hangs = isSilent
    var answer = LookupAnswer()
    work { bytes in
      if !hangs { answer.bytes += bytes }
    }
    answer.isWhole = !hangs
    return answer
  }
}
