/// Sessions as their clients are told of them, read together for all who ask at the same time.
///
/// A lost connection to the database, or a phone that leaves, wakes many clients at once. If each read its own session,
/// thousands of reads would wait for the database, before sign-ins. Whoever asks is answered by a read that begins
/// afterwards.
final class SharedSessionViews: Sendable {
  /// The most clients that one read is for.
  static let portion = 100

  private let turns: SharedTurns<String, Result<SessionView, any Error>?>

  init(_ storage: any SessionStore) {
    turns = SharedTurns(greatestCount: Self.portion, failsTogether: true) { ids in
      let found = try await storage.sessionViews(Array(Set(ids)))
      return ids.map { found[$0] }
    }
  }

  /// How many wait for the next read to begin.
  var waiting: Int { turns.waiting }

  /// Nil if there is no such session.
  func view(of id: String) async throws -> SessionView? { try await turns.value(of: id)?.get() }
}
