/// Renewed marks of computers: one turn stores those of all who connect at the same time, as all computers do after a
/// restart of the service.
final class MarkRenewals: Sendable {
  /// One turn stores no more: others' changes wait meanwhile, some milliseconds for each mark over a network.
  private static let greatestCount = 32

  private let storage: any CloneDetectorStore
  private let turns: SharedTurns<ComputerMarkSighting, CloneDetector.Finding?>

  init(_ storage: any CloneDetectorStore) {
    self.storage = storage
    turns = SharedTurns(greatestCount: Self.greatestCount) { try await storage.renew($0) }
  }

  /// How many wait for a turn to begin.
  var waiting: Int { turns.waiting }

  /// Notes the mark of a computer.
  func record(_ sighting: ComputerMarkSighting) async throws -> CloneDetector.Finding {
    // Nearly every request has the known mark, which needs no turn to write.
    if try await storage.isKnown(sighting) { return .known }
    if let finding = try await turns.value(of: sighting) { return finding }
    return try await storage.record(sighting)
  }
}
