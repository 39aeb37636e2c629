extension SignInService {
  /// The metrics. They must not be among the service's own routes, which strangers can reach.
  ///
  /// Metrics that do not need the database are also there while it is gone or hangs, because they are needed most then.
  func metricsText() async -> String {
    var stock: StockQuery.Stock?
    do {
      stock = try await core.stockQuery.stock { [core] in
        StockQuery.Stock(storage: try await core.storage.stock(), signing: try await core.signingState())
      }
    } catch {
      core.tell(storageFailure: error)
    }
    return core.metrics.text(
      stock?.storage, signing: stock?.signing,
      unsignedSince: stock?.signing.unsignedSince.map(core.storage.clock.unixTime), load: core.storage.load,
      held: board.heldCount, holdsHousekeeperLease: holdsHousekeeperLease, certificateEnd: certificateEnd(),
      file: core.file.state)
  }
}
