import HostState

/// The stage of a record, by what the machine shows. Pure.
public enum RecordStage: Sendable, Equatable {
  /// Approved; its session is not open yet, or never will be one that is watched (sudo, su).
  case waiting
  case watched
  /// The session is over, or was never opened: the service is told, then the record goes.
  case closing(Reason)

  public enum Reason: String, Sendable, CaseIterable {
    case released = "closed by its host"
    case leaderGone = "its leader is gone"
    case sessionGone = "logind has it no more"
    case notOurs = "logind's session is another one by now"
    case commandOver = "its command is over"
    case neverOpened = "no session was opened"
  }

  /// A sign-in whose session was not opened after this time, in seconds, will not open one.
  public static let greatestWait: Int64 = 180

  /// What the machine shows of a record. A process that cannot be looked at counts as alive.
  public struct Facts: Sendable, Equatable {
    public var isProcessAlive: Bool
    public var isParentAlive: Bool
    public var isLeaderAlive: Bool
    public var sight: SessionSight
    /// Something of the session runs on for which it is watched although its host has closed it or has ended.
    public var runsOn: Bool

    public init(
      isProcessAlive: Bool, isParentAlive: Bool, isLeaderAlive: Bool, sight: SessionSight, runsOn: Bool
    ) {
      self.isProcessAlive = isProcessAlive
      self.isParentAlive = isParentAlive
      self.isLeaderAlive = isLeaderAlive
      self.sight = sight
      self.runsOn = runsOn
    }
  }

  /// - Parameter now: seconds after boot.
  public static func of(_ record: SessionRecord, _ facts: Facts, now: Int64) -> RecordStage {
    if let binding = record.binding { return bound(record, binding, facts) }
    if record.isReleased { return .closing(.released) }
    if !record.opensSession {
      return facts.isProcessAlive ? .waiting : .closing(.commandOver)
    }
    guard facts.isProcessAlive || facts.isParentAlive, now - record.created < greatestWait else {
      return .closing(.neverOpened)
    }
    return .waiting
  }

  private static func bound(
    _ record: SessionRecord, _ binding: SessionRecord.Binding, _ facts: Facts
  ) -> RecordStage {
    if !facts.runsOn {
      if record.isReleased { return .closing(.released) }
      guard facts.isLeaderAlive else { return .closing(.leaderGone) }
    }
    switch facts.sight {
    case .gone: return .closing(.sessionGone)
    // A logind that cannot be asked does not show that the session is gone.
    case .unclear: return .watched
    case .there(let session):
      // The leader was judged above: one that cannot be looked at counts as alive here, since nothing is done to it.
      return binding.matches(session, of: record.uid, leader: .mayHaveEnded) ? .watched : .closing(.notOurs)
    }
  }
}
