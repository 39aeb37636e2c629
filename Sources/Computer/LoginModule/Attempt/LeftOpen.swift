import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Where a request stays that outlives its conversation: a locker that shows nothing takes no password meanwhile, so it
/// waits a short time, and its user presses Enter again.
public protocol RequestShelf {
  /// What this very program has left, which nobody gets a second time; nil if there is nothing.
  func take(_ question: ApprovalQuestion) -> PendingSession?
  /// Whether the request stays. Otherwise it is to be cancelled.
  func leave(_ pending: PendingSession) -> Bool
}

extension LoginAttempt {
  /// The request that this very program has left, if the phone can still answer it, or has approved it meanwhile. It has
  /// been counted, and rings nobody again.
  ///
  /// - Throws: if the phone has denied it.
  func leftOpen(_ question: ApprovalQuestion, by deadline: MonotonicInstant) throws(Refusal) -> PendingSession? {
    guard let pending = shelf?.take(question) else { return nil }
    let answer: ApprovalAnswer
    do { answer = try service.approval(of: pending, waitSeconds: nil, deadline: deadline) } catch {
      // The wait asks again.
      if error.isPassing { return pending }
      if error == .notFound { return nil }
      cancel(pending.remote)
      throw Refusal(error)
    }
    switch answer {
    case .approved, .waiting: return pending
    case .ended(.cancelled, let reason): throw Refusal(endedBy: .cancelled, reason: reason)
    // Its time is over, or its approval was not fetched in time.
    case .ended: return nil
    }
  }
}
