import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Keeps a request that outlives its conversation. A locker that shows nothing takes no password while it waits. So it
/// waits a short time, and its user presses Enter again.
public protocol ResumableRequests {
  /// Removes and returns the request that this same program has left; nil if there is none.
  ///
  /// - Parameter mark: the mark of the present question. Only a request with the same mark is resumed.
  func take(_ question: ApprovalQuestion, mark: String) -> PendingSession?
  /// Keeps the request. If this returns false, the request must be cancelled.
  func leave(_ pending: PendingSession, mark: String) -> Bool
  /// Notes that a resumed request is over at the service.
  func forget(_ pending: PendingSession)
}

extension LoginAttempt {
  /// The request that this same program has left, if the phone can still answer it or has approved it meanwhile. It was
  /// already counted, and does not ring again.
  ///
  /// - Throws: if the phone has denied it.
  func leftOpen(
    _ question: ApprovalQuestion, mark: String, by deadline: MonotonicInstant
  ) throws(Refusal) -> PendingSession? {
    guard let resumable, let pending = resumable.take(question, mark: mark) else { return nil }
    // A silent service must not use up the time for an answer. The user sees nothing before the wait, and the locker
    // takes a broker that is silent for long for one that has stopped.
    let end = min(deadline, clock.now().advanced(milliseconds: policy.lookMilliseconds))
    let answer: ApprovalAnswer
    do { answer = try service.approval(of: pending, waitSeconds: nil, deadline: end) } catch {
      // The wait asks again, or leaves it once more if its time is over.
      if error.isPassing || error.isOvertaken(left: end.milliseconds(since: clock.now())) { return pending }
      if error == .notFound {
        resumable.forget(pending)
        return nil
      }
      cancel(pending.remote)
      throw Refusal(error)
    }
    switch answer {
    case .approved, .waiting: return pending
    case .ended(let status, let reason):
      resumable.forget(pending)
      if status == .cancelled { throw Refusal(endedBy: status, reason: reason) }
      // The request's time is over, or its approval was not fetched in time.
      return nil
    }
  }

  /// Whether the request goes on without this conversation. A request with digits does not, because the digits must be
  /// visible as long as they may be typed.
  func leaves(_ pending: PendingSession, mark: String) -> Bool {
    guard let resumable, pending.matchCode == nil else { return false }
    return resumable.leave(pending, mark: mark)
  }
}
