extension SignInService {
  /// Ends expired sessions and deletes old data, until the task is cancelled.
  ///
  /// One of several servers on one database does it.
  public func keepHouse(keeping times: KeptTimes = .usual) async {
    while !Task.isCancelled {
      do {
        try await core.storage.keepTime()
        try await tidyIfKeeper(keeping: times)
        core.tellWhenStorageWorksAgain()
      } catch is HouseTaken {
        core.logger.notice("another server does the housekeeping now")
      } catch {
        core.tell(storageFailure: error)
      }
      try? await Task.sleep(for: .seconds(HousekeepingPace.interval))
    }
  }

  /// Whether this server does the housekeeping.
  var keepsHouse: Bool { core.storage.others?.keepsHouse ?? true }

  /// Does one round, if this server does the housekeeping.
  ///
  /// - Throws: ``HouseTaken`` if another server took over meanwhile, and errors of the storage.
  func tidyIfKeeper(keeping times: KeptTimes = .usual) async throws {
    guard keepsHouse else { return }
    try await HouseDuty.$isOn.withValue(core.storage.others != nil) { try await tidy(keeping: times) }
  }

  /// Does one round.
  func tidy(keeping times: KeptTimes = .usual) async throws {
    let storage = core.storage
    try await storage.keepTime()
    let now = core.clock()
    let wall = storage.clock.wall()
    try await AuditActor.$current.withValue(.service) {
      try await core.closeOverdue(at: now)
      try await leaveForSilence(at: now)
      try await storage.forgetOld(at: now, wall: wall, keeping: times)
    }
    core.metrics.housekept()
  }
}

extension ServiceCore {
  /// The most sessions that are ended in one transaction. Sign-ins wait meanwhile.
  private static let overduePortion = 100

  /// Stores the end of every expired session, and wakes the requests that wait for it.
  func closeOverdue(at now: UnixTime) async throws {
    var place: OverduePlace?
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
