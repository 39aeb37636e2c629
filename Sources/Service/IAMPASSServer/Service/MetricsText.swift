extension SignInService {
  /// For who may see them: never among the service's own routes.
  ///
  /// What needs no database is there while the database is gone or hangs, too: that is when it is asked for.
  func metricsText() async -> String {
    var stock: StockLooks.Stock?
    do {
      stock = try await core.stockLooks.stock { [core] in
        StockLooks.Stock(storage: try await core.storage.stock(), signing: try await core.signingState())
      }
    } catch {
      core.tell(storageFailure: error)
    }
    return core.metrics.text(
      stock?.storage, signing: stock?.signing,
      unsignedSince: stock?.signing.unsignedSince.map(core.storage.clock.unixTime), load: core.storage.load,
      held: board.heldCount, keepsHouse: keepsHouse, certificateEnd: certificateEnd(),
      file: core.file.state)
  }
}
