/// Reads of the storage that all who ask at the same time share: there is one at a time, for all ids that
/// anybody asks for.
///
/// Whoever asks is answered by a read that begins afterwards. So a missing row is never remembered.
final class SharedReads<Value: Sendable>: Sendable {
  /// Finds those of these ids that there are.
  typealias Read = @Sendable (_ ids: [String]) async throws -> [String: Value]

  private let turns: SharedTurns<String, Value?>

  /// - Parameter read: takes bounded time.
  init(_ read: @escaping Read) {
    turns = SharedTurns { ids in
      let found = try await read(Array(Set(ids)))
      return ids.map { found[$0] }
    }
  }

  /// How many wait for the next read to begin.
  var waiting: Int { turns.waiting }

  /// What there is with this id; nil if there is nothing.
  ///
  /// - Throws: what the read throws: it fails for all who share it.
  func value(of id: String) async throws -> Value? { try await turns.value(of: id) }
}
