import Logging

extension SignInService {
  /// The pause after a failure, in seconds.
  private static let pause = 1

  /// Logs that a PostgreSQL database may lack data that it had before.
  public static func tellOfLostHistory(_ logger: Logger) {
    logger.warning(
      "a standby of the database was promoted, or a copy was put back",
      metadata: ["hint": "phones cut off and credentials revoked that it did not hear of are taken again"])
  }

  /// Wakes requests here that wait for changes of other servers, until the task is cancelled. Returns at once if the
  /// storage is this server's own.
  ///
  /// - Returns: why this server must stop, because a newer server changed the database; nil otherwise.
  public func followOtherServers() async -> StorageError? {
    guard let listener = core.storage.changeListener else { return nil }
    while !Task.isCancelled {
      do {
        for events in try await listener.events() { core.receive(events) }
        core.tellWhenStorageWorksAgain()
      } catch let refusal as StorageError where refusal.code == .databaseTooNew {
        return refusal
      } catch {
        core.tell(storageFailure: error)
        try? await Task.sleep(for: .seconds(Self.pause))
      }
    }
    return nil
  }
}

extension ServiceCore {
  fileprivate func receive(_ events: ServerEvent) {
    switch events {
    case .changed(let topic): board.changed(topic)
    case .missed: board.changedAll()
    case .clockStepped(let milliseconds):
      logger.warning(
        "the database's clock was set",
        metadata: ["step": "\(milliseconds) ms", "hint": "look at the time synchronization of the database's machine"])
    case .timeCorrected(let milliseconds):
      logger.notice(
        "the service's time was corrected against the database's clock", metadata: ["by": "\(milliseconds) ms"])
    case .housekeepingStalled:
      logger.warning(
        "this server's housekeeping got nowhere for minutes: another server may take it",
        metadata: ["hint": "look for earlier errors of this server; restart it if it hangs"])
    case .historyBegan:
      SignInService.tellOfLostHistory(logger)
      board.changedAll()
    }
  }
}
