extension SignInService {
  /// For who may see them: never among the service's own routes.
  func metricsText() async throws -> String {
    let stock = try await core.storage.stock()
    let signing = try await core.signingState()
    return core.metrics.text(
      stock, signing: signing, unsignedSince: signing.unsignedSince.map(core.storage.clock.unixTime),
      held: board.heldCount, certificateEnd: certificateEnd())
  }
}
