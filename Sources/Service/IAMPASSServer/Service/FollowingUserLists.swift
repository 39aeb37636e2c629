extension SignInService {
  /// The time between two looks at the lists' versions, in milliseconds. A command or another server may have changed a
  /// list.
  private static let listInterval = 500

  /// Wakes requests that wait for a list of users if it changes, until the task is cancelled. Removed users' sessions
  /// end: storage with a ``ServiceStorage/changeListener`` tells of each of them, otherwise all requests that wait look
  /// again. It also stores computers' reports.
  public func followUserLists() async {
    var known: [String: Int64]?
    while !Task.isCancelled {
      do {
        let versions = try await core.storage.userListVersions()
        for (application, version) in versions where known.map({ $0[application] != version }) ?? false {
          core.board.changed(.userList(application))
          if core.storage.changeListener == nil { core.board.changedAll() }
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
