/// Applications and host credentials as they were read last, in memory. They decide nothing but what is worth a visit to the
/// storage: whoever is proven by them is judged by what that visit reads.
final class KnownSignInClients: Sendable {
  private let known = Remembered<SignInClient>()
  private let reads: SharedReads<Result<SignInClient, any Error>>

  init(_ storage: any RequestStore) { reads = SharedReads { try await storage.signInClients($0) } }

  /// How many wait for a read to begin.
  var waiting: Int { reads.waiting }

  subscript(_ id: String) -> SignInClient? { known[id] }

  /// Reads it, once for all who ask at the same time for any.
  ///
  /// - Returns: nil if there is neither an application nor a host credential with this id.
  func read(_ id: String) async throws -> SignInClient? {
    let signInClient = try await reads.value(of: id)?.get()
    keep(signInClient, as: id)
    return signInClient
  }

  /// - Parameter client: nil if there is none.
  func keep(_ signInClient: SignInClient?, as id: String) {
    if let signInClient { known.keep(signInClient, as: id) } else { known.forget(id) }
  }
}
