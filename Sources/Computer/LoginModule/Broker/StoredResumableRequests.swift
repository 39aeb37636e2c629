import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// `/run/iampass/left`, for one locker. The broker serves one caller of each user at a time, so two processes cannot
/// take the same request.
final class StoredResumableRequests: ResumableRequests {
  private let setup: HostSetup
  private let owner: LeftRequest.Owner
  private let service: KeptService
  /// When the request was started, in seconds since boot.
  private var began = BootTime.seconds()

  init(setup: HostSetup, owner: LeftRequest.Owner, service: KeptService) {
    self.setup = setup
    self.owner = owner
    self.service = service
  }

  /// Another request of the user by this PAM service is ended, because it would block the new one.
  func take(_ question: ApprovalQuestion, mark: String) -> PendingSession? {
    guard let left = try? setup.leftRequests.take(for: owner), let settings = try? setup.serviceSettings(),
      let remote = try? left.session.remoteSession(settings)
    else { return nil }
    guard left.isOpen(to: owner, mark: mark, now: BootTime.seconds()),
      let pending = PendingSession(
        resuming: remote, name: left.name, question, challenge: left.challenge, origin: settings.server.origin)
    else {
      // The next caller tries again. Until then it blocks the user's requests.
      if !isWithdrawn(remote) { try? setup.leftRequests.leave(left) }
      return nil
    }
    began = left.began
    service.keep(remote)
    return pending
  }

  /// Withdraws the request at the service. This uses its own connection: one that has ended a request no longer notices
  /// that its caller leaves.
  private func isWithdrawn(_ remote: RemoteSession) -> Bool {
    guard let credential = try? setup.credential(),
      let connection = try? setup.service(as: credential, interruption: nil)
    else { return false }
    let deadline = MonotonicInstant.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds)
    do { try connection.end(remote, deadline: deadline) } catch { return !error.mayHaveLeftOpen }
    return true
  }

  func leave(_ pending: PendingSession, mark: String) -> Bool {
    guard let origin = OpenSession.Origin.current() else { return false }
    let session = OpenSession(
      pending.remote, id: owner.id, origin: origin, end: Int64(time(nil)) + ApprovalTimeout.bounds.upperBound)
    let left = LeftRequest(
      owner: owner, mark: mark, began: began, session: session, name: pending.name, challenge: pending.challenge)
    do { try setup.leftRequests.leave(left) } catch { return false }
    // The next broker must not end it.
    service.forget(pending.remote)
    return true
  }

  func forget(_ pending: PendingSession) { service.forget(pending.remote) }
}
