import Synchronization

/// Requests whose phone this service has rung again, since their computer started them again.
final class RepeatedStarts: Sendable {
  /// Seconds that a request is remembered: longer than any waits for its answer.
  private static let lifetime: Int64 = 3_600

  private let rung = Mutex<[String: UnixTime]>([:])

  /// Whether the session's phone was not rung again yet. It is from now on.
  func isFirst(_ session: String, at now: UnixTime) -> Bool {
    rung.withLock { rung in
      rung = rung.filter { now < $0.value.advanced(seconds: Self.lifetime) }
      guard rung[session] == nil else { return false }
      rung[session] = now
      return true
    }
  }
}
