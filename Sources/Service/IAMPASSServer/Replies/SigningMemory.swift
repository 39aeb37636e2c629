import IAMPASSProtocol
import Synchronization

/// What is signed and what is not, as it was found last: thousands of lines are not compared each time that somebody asks.
final class SigningMemory: Sendable {
  /// Seconds after which the lines are compared whatever the audit says.
  private static let lifetime: Int64 = 60

  private struct Found {
    let state: SigningState
    let auditID: Int64
    let at: UnixTime
  }

  private let found = Mutex<Found?>(nil)

  /// The state of this moment.
  func state(_ storage: any ServiceStorage, at now: UnixTime) async throws -> SigningState {
    let last = found.withLock { $0 }
    if let last, (last.at..<last.at.advanced(seconds: Self.lifetime)).contains(now),
      try await !storage.seeSigning({ try $0.hasSigningNews(afterAudit: last.auditID) })
    {
      return last.state
    }
    let (state, auditID) = try await storage.seeSigning { (try SigningWork(rows: $0).state(), try $0.lastAuditID()) }
    found.withLock { $0 = Found(state: state, auditID: auditID, at: now) }
    return state
  }
}

extension ServiceCore {
  func signingState() async throws -> SigningState { try await signing.state(storage, at: clock()) }

  /// For a computer; nil if everything is signed.
  func unsignedChanges(of application: String) async throws -> UnsignedChanges? {
    let list = try await signingState().lists.first { $0.application == application }
    guard let list, !list.isSigned else { return nil }
    let now = clock()
    return UnsignedChanges(
      count: Int64(list.changes.count), age: list.unsignedSince.map { max(0, now.milliseconds(since: $0) / 1_000) })
  }
}
