extension SignInService {
  /// Ends expired sessions and deletes old data, until the task is cancelled.
  ///
  /// One of several servers on one database does it.
  public func doHousekeeping(keeping times: KeptTimes = .usual) async {
    while !Task.isCancelled {
      do {
        try await StoragePatience.$isEndless.withValue(true) { try await core.storage.keepTime() }
        try await tidyIfLeaseHolder(keeping: times)
        core.tellWhenStorageWorksAgain()
      } catch is HousekeeperLeaseLost {
        core.logger.notice("another server does the housekeeping now")
      } catch {
        core.tell(storageFailure: error)
      }
      try? await Task.sleep(for: .seconds(HousekeepingPace.interval))
    }
  }

  /// Whether this server does the housekeeping.
  var holdsHousekeeperLease: Bool { core.storage.changeListener?.holdsHousekeeperLease ?? true }

  /// Does one round, if this server does the housekeeping.
  ///
  /// - Throws: ``HousekeeperLeaseLost`` if another server took over meanwhile, and errors of the storage.
  func tidyIfLeaseHolder(keeping times: KeptTimes = .usual) async throws {
    guard holdsHousekeeperLease else { return }
    try await HousekeeperDuty.$isOn.withValue(core.storage.changeListener != nil) { try await tidy(keeping: times) }
  }

  /// Does one round. No load of requests keeps it from its turns.
  func tidy(keeping times: KeptTimes = .usual) async throws {
    try await StoragePatience.$isEndless.withValue(true) { try await tidyInTurn(keeping: times) }
  }

  private func tidyInTurn(keeping times: KeptTimes) async throws {
    let storage = core.storage
    try await storage.keepTime()
    let now = core.clock()
    let wall = storage.clock.wall()
    try await AuditActor.$current.withValue(.service) {
      try await eachInTurn(
        { try await core.closeOverdue(at: now) }, { try await leaveForSilence(at: now) },
        { try await storage.forgetOld(at: now, wall: wall, keeping: times) })
    }
    core.metrics.housekeepingDone()
  }

  /// Does each of these steps, whatever became of those before it.
  ///
  /// - Throws: the first failure, after all steps; at once what would fail each of them: ``HousekeeperLeaseLost``, and a
  ///   database that is out of reach.
  func eachInTurn(_ steps: (@Sendable () async throws -> Void)...) async throws {
    var failure: (any Error)?
    for step in steps {
      do { try await step() } catch {
        if error is HousekeeperLeaseLost || core.storage.trouble(behind: error) == .unreachable { throw error }
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}

extension ServiceCore {
  /// The most sessions that are ended in one transaction. Sign-ins wait meanwhile.
  private static let overduePortion = 100

  /// Stores the end of every expired session, and wakes the requests that wait for it.
  func closeOverdue(at now: UnixTime) async throws {
    var place: OverdueCursor?
    var unreadable: Set<String> = []
    repeat {
      let portion = try await storage.endOverdue(at: now, after: place, limit: Self.overduePortion)
      announceEnd(of: portion.ended)
      unreadable.formUnion(portion.unreadable)
      place = portion.next
    } while place != nil && !Task.isCancelled
    tell(unreadable: unreadable)
  }
}
