import Synchronization

extension SignInService {
  /// The time between two looks at the lists' versions, in milliseconds. A command or another server may have changed a
  /// list.
  private static let listInterval = 500

  /// Wakes requests that wait for a list of users if it changes, and those that wait for sessions and phones of its removed
  /// users, until the task is cancelled. It also stores computers' reports, and goes on with orders of signatures. If one of
  /// these fails, the others do not wait for it.
  public func followUserLists() async {
    let known = Mutex<UserListVersions?>(nil)
    while !Task.isCancelled {
      do {
        try await eachInTurn(
          {
            let versions = try await core.storage.userListVersions()
            if let former = known.withLock({ $0 }) { try await wake(since: former, versions) }
            known.withLock { $0 = versions }
          }, { try await core.reports.store(in: core.storage) },
          { try await AuditActor.$current.withValue(.service) { try await documents.attend() } })
        core.tellWhenStorageWorksAgain()
      } catch {
        core.tell(storageFailure: error)
      }
      try? await Task.sleep(for: .milliseconds(Self.listInterval))
    }
  }

  private func wake(since known: UserListVersions, _ versions: UserListVersions) async throws {
    let changed = versions.changed(since: known)
    for application in changed { core.board.changed(.userList(application)) }
    // A command may have ended the sessions of removed users. A database with a listener tells of each of them itself.
    guard !changed.isEmpty, core.storage.changeListener == nil, let last = known.lastAuditID else { return }
    for topic in try await core.storage.topics(inAuditAfter: last, of: changed) { core.board.changed(topic) }
  }
}
