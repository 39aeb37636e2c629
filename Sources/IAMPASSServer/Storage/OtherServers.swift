/// What other servers on the same database do: who waits here for a session is woken by an answer there.
protocol OtherServers: Sendable {
  /// Waits for news, a second at most. To be asked by one task, again and again.
  func news() async throws -> [ServerNews]

  /// Whether this server keeps house for all of them. One does at a time. If it ends, another one takes over within
  /// seconds.
  var keepsHouse: Bool { get }
}

/// Something that a server stored; this one perhaps.
enum ServerNews: Equatable, Sendable {
  case changed(ChangeBoard.Topic)
  /// Something may have been missed: everyone who waits has to look again.
  case missed
}

extension SignInService {
  /// Seconds until another look after a failure.
  private static let pause = 1

  /// Wakes whoever waits here for what other servers change, until the task is cancelled. Returns at once if the storage
  /// is this server's own.
  public func followOtherServers() async {
    guard let others = core.storage.others else { return }
    while !Task.isCancelled {
      do {
        for news in try await others.news() { core.board.hear(news) }
        core.tellWhenStorageWorksAgain()
      } catch {
        core.tell(storageFailure: error)
        try? await Task.sleep(for: .seconds(Self.pause))
      }
    }
  }
}

extension ChangeBoard {
  fileprivate func hear(_ news: ServerNews) {
    switch news {
    case .changed(let topic): changed(topic)
    case .missed: changedAll()
    }
  }
}
