extension SignInService {
  /// Milliseconds between two looks at the lists' versions: a command may have changed one, or another server.
  private static let listInterval = 500

  /// Wakes whoever waits here for a list of users that was changed, until the task is cancelled. With a list, users leave,
  /// whose sessions end: those who wait for sessions look again, too. Stores what computers say of themselves.
  public func followUserLists() async {
    var known: [String: Int64]?
    while !Task.isCancelled {
      do {
        let versions = try await core.storage.userListVersions()
        for (application, version) in versions where known.map({ $0[application] != version }) ?? false {
          core.board.changed(.userList(application))
          core.board.changedAll()
        }
        known = versions
        try await core.reports.store(in: core.storage)
        try await AuditActor.$current.withValue(.service) { try await documents.attend() }
        core.tellWhenStorageWorksAgain()
      } catch {
        core.tell(storageFailure: error)
      }
      try? await Task.sleep(for: .milliseconds(Self.listInterval))
    }
  }
}
