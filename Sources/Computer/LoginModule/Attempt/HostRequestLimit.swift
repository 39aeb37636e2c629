import HostState
import HostSystem

/// The attempts files in `/run/iampass`, for one user and source.
struct HostRequestLimit: RequestLimit {
  let limiter: AttemptLimiter
  let user: UnixUsername
  let source: AttemptSource

  func admit() throws(AttemptRefusal) { try limiter.admit(user, from: source) }
  func forgive() throws(AttemptRefusal) { try limiter.forgive(user, from: source) }
}
