extension SignInService {
  /// For who may see them: never among the service's own routes.
  ///
  /// What needs no database is there while the database is gone, too: that is when it is asked for.
  func metricsText() async -> String {
    var stock: StorageStock?
    var signing: SigningState?
    do {
      stock = try await core.storage.stock()
      signing = try await core.signingState()
    } catch {
      core.tell(storageFailure: error)
    }
    return core.metrics.text(
      stock, signing: signing, unsignedSince: signing?.unsignedSince.map(core.storage.clock.unixTime),
      held: board.heldCount, keepsHouse: keepsHouse, certificateEnd: certificateEnd())
  }
}
