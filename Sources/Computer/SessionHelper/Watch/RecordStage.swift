import HostState

/// The stage of a record, by the computer's state. Pure.
public enum RecordStage: Sendable, Equatable {
  /// The sign-in was approved. Its session is not open yet, or is of a kind that is not watched (sudo, su).
  case waiting
  case watched
  /// The session is over or was never opened. The service is told, then the record is removed.
  case closing(Reason)

  public enum Reason: String, Sendable, CaseIterable {
    case released = "closed by its host"
    case leaderGone = "its leader is gone"
    case sessionGone = "logind has it no more"
    case notOurs = "logind's session is another one by now"
    case commandOver = "its command is over"
    case neverOpened = "no session was opened"
  }

  /// A sign-in that has not opened a session after this time, in seconds, will not open one.
  public static let greatestWait: Int64 = 180

  /// The computer's state for a record. A process that cannot be read counts as alive.
  public struct Facts: Sendable, Equatable {
    public var isProcessAlive: Bool
    public var isParentAlive: Bool
    public var isLeaderAlive: Bool
    public var sight: SessionSight
    /// Processes of the session run on. It is watched for them although its host has closed it or has ended.
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
    // If logind cannot be asked, the session does not count as gone.
    case .unclear: return .watched
    case .there(let session):
      // The leader was judged above. A leader that cannot be read counts as alive here, because nothing is done to it.
      return binding.matches(session, of: record.uid, leader: .mayHaveEnded) ? .watched : .closing(.notOurs)
    }
  }
}
