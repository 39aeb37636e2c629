extension SignInService {
  /// How long service time may stand still before ``unreadiness()`` reports it, in milliseconds.
  static let longestStandstill = StorageClock.greatestStep

  /// Why a proxy should not send requests here; nil if it may. Throws if the storage does not answer.
  func unreadiness() async throws -> String? {
    // Running requests are still answered.
    if board.isStopping { return "the service stops" }
    if core.storage.clock.standstill() > Self.longestStandstill {
      return "the database's clock was set back, and the service's time stands still"
    }
    if isFileDamaged { return "the database's file is damaged" }
    _ = try await core.health()
    return try await core.storage.sealProblem().map { "\($0)" }
  }
}
