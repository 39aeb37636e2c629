extension SignInService {
  /// Seconds until another look after a failure.
  private static let pause = 1

  /// Wakes whoever waits here for what other servers change, until the task is cancelled. Returns at once if the storage
  /// is this server's own.
  ///
  /// - Returns: why this server must stop: a newer server changed the database. Nil otherwise.
  public func followOtherServers() async -> StorageError? {
    guard let others = core.storage.others else { return nil }
    while !Task.isCancelled {
      do {
        for news in try await others.news() { core.hear(news) }
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
  fileprivate func hear(_ news: ServerNews) {
    switch news {
    case .changed(let topic): board.changed(topic)
    case .missed: board.changedAll()
    case .clockStepped(let milliseconds):
      logger.warning(
        "the database's clock was set",
        metadata: ["step": "\(milliseconds) ms", "hint": "look at the time synchronization of the database's machine"])
    }
  }
}
