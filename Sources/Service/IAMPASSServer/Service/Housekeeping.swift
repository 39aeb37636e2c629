extension SignInService {
  /// Ends what time has ended and forgets what is no longer needed, until the task is cancelled.
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

  /// Whether this is the server that does it.
  var keepsHouse: Bool { core.storage.others?.keepsHouse ?? true }

  /// One round, if this is the server that does it.
  ///
  /// - Throws: ``HouseTaken`` if another one took over meanwhile, and what goes wrong with the storage.
  func tidyIfKeeper(keeping times: KeptTimes = .usual) async throws {
    guard keepsHouse else { return }
    try await HouseDuty.$isOn.withValue(core.storage.others != nil) { try await tidy(keeping: times) }
  }

  /// One round.
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
  /// How many sessions are ended at once. Whoever signs in meanwhile waits as long as that takes.
  private static let overduePortion = 100

  /// Stores the end of every session whose time has come, and tells everyone who waits.
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
