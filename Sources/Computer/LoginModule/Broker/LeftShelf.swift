import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// `/run/iampass/left`, for one locker. The broker serves one caller of a user's at a time, so that nobody takes what
/// another process has just read.
final class LeftShelf: RequestShelf {
  private let setup: HostSetup
  private let owner: LeftRequest.Owner
  private let service: KeptService
  /// Seconds since boot at which the request was started.
  private var began = BootTime.seconds()

  init(setup: HostSetup, owner: LeftRequest.Owner, service: KeptService) {
    self.setup = setup
    self.owner = owner
    self.service = service
  }

  /// Another request of the user's by this PAM service is ended: it would keep the phone from being asked.
  func take(_ question: ApprovalQuestion, mark: String) -> PendingSession? {
    guard let left = try? setup.leftRequests.take(for: owner), let settings = try? setup.serviceSettings(),
      let remote = try? left.session.remoteSession(settings)
    else { return nil }
    guard left.isOpen(to: owner, mark: mark, now: BootTime.seconds()),
      let pending = PendingSession(
        resuming: remote, name: left.name, question, challenge: left.challenge, origin: settings.server.origin)
    else {
      // Whoever asks next tries again: until then it holds the user's requests back.
      if !isWithdrawn(remote) { try? setup.leftRequests.leave(left) }
      return nil
    }
    began = left.began
    service.keep(remote)
    return pending
  }

  /// Whether the service keeps it no longer. Over a connection of its own: one that has ended a request does not notice
  /// any more that its caller leaves.
  private func isWithdrawn(_ remote: RemoteSession) -> Bool {
    guard let credential = try? setup.credential(),
      let connection = try? setup.service(as: credential, interruption: nil)
    else { return false }
    let deadline = MonotonicInstant.now().advanced(milliseconds: LoginPolicy.cancelMilliseconds)
    do { try connection.end(remote, deadline: deadline) } catch { return !error.isPassing }
    return true
  }

  func leave(_ pending: PendingSession, mark: String) -> Bool {
    guard let origin = OpenSession.Origin.current() else { return false }
    let session = OpenSession(
      pending.remote, id: owner.id, origin: origin, end: Int64(time(nil)) + ApprovalTimeout.bounds.upperBound)
    let left = LeftRequest(
      owner: owner, mark: mark, began: began, session: session, name: pending.name, challenge: pending.challenge)
    do { try setup.leftRequests.leave(left) } catch { return false }
    // The next broker leaves it alone.
    service.forget(pending.remote)
    return true
  }

  func forget(_ pending: PendingSession) { service.forget(pending.remote) }
}
