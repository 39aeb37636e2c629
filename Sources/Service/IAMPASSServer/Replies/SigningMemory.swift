import IAMPASSProtocol
import Synchronization

/// What is signed and what is not, as it was found last: thousands of lines are not compared each time that somebody asks.
final class SigningMemory: Sendable {
  /// Seconds after which the lines are compared whatever the audit says.
  private static let lifetime: Int64 = 60

  private struct Found {
    var state: SigningState
    let auditID: Int64
    let at: UnixTime

    /// - Parameter last: what was found last, which stays if nothing has changed since.
    init(_ last: Found?, _ storage: any ServiceStorage, at now: UnixTime) async throws {
      if let last, (last.at..<last.at.advanced(seconds: SigningMemory.lifetime)).contains(now) {
        let (hasNews, failed) = try await storage.seeSigning {
          (try $0.hasSigningNews(afterAudit: last.auditID), FailedSignatures(try $0.orderOutcomes()))
        }
        if !hasNews {
          self = last
          state.failed = failed
          return
        }
      }
      let seen = try await storage.seeSigning { (try SigningWork(rows: $0).state(), try $0.lastAuditID()) }
      state = seen.0
      auditID = seen.1
      at = now
    }
  }

  private struct Ask: Sendable {
    let storage: any ServiceStorage
    let now: UnixTime
  }

  /// All who ask while lines are compared share the next comparison.
  private let turns: SharedTurns<Ask, SigningState>

  init() {
    let memory = Mutex<Found?>(nil)
    turns = SharedTurns { asks in
      let last = asks[asks.count - 1]
      let found = try await Found(memory.withLock { $0 }, last.storage, at: last.now)
      memory.withLock { $0 = found }
      return asks.map { _ in found.state }
    }
  }

  /// The state of this moment.
  func state(_ storage: any ServiceStorage, at now: UnixTime) async throws -> SigningState {
    try await turns.value(of: Ask(storage: storage, now: now))
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
