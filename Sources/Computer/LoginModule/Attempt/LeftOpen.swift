import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Where a request stays that outlives its conversation: a locker that shows nothing takes no password meanwhile, so it
/// waits a short time, and its user presses Enter again.
public protocol RequestShelf {
  /// What this very program has left, which nobody gets a second time; nil if there is nothing.
  ///
  /// - Parameter mark: what is asked now. Only what was asked by the same mark is taken up.
  func take(_ question: ApprovalQuestion, mark: String) -> PendingSession?
  /// Whether the request stays. Otherwise it is to be cancelled.
  func leave(_ pending: PendingSession, mark: String) -> Bool
  /// What was taken is over at the service.
  func forget(_ pending: PendingSession)
}

extension LoginAttempt {
  /// The request that this very program has left, if the phone can still answer it, or has approved it meanwhile. It has
  /// been counted, and rings nobody again.
  ///
  /// - Throws: if the phone has denied it.
  func leftOpen(
    _ question: ApprovalQuestion, mark: String, by deadline: MonotonicInstant
  ) throws(Refusal) -> PendingSession? {
    guard let shelf, let pending = shelf.take(question, mark: mark) else { return nil }
    let answer: ApprovalAnswer
    do { answer = try service.approval(of: pending, waitSeconds: nil, deadline: deadline) } catch {
      // The wait asks again.
      if error.isPassing { return pending }
      if error == .notFound {
        shelf.forget(pending)
        return nil
      }
      cancel(pending.remote)
      throw Refusal(error)
    }
    switch answer {
    case .approved, .waiting: return pending
    case .ended(let status, let reason):
      shelf.forget(pending)
      if status == .cancelled { throw Refusal(endedBy: status, reason: reason) }
      // Its time is over, or its approval was not fetched in time.
      return nil
    }
  }

  /// Whether the request goes on without this conversation. One with digits never does: they must be seen as long as
  /// somebody may type them.
  func leaves(_ pending: PendingSession, mark: String) -> Bool {
    guard let shelf, pending.matchCode == nil else { return false }
    return shelf.leave(pending, mark: mark)
  }
}
