import HostState
import PresenceLink

/// The configuration for phones that are looked for by Bluetooth. Times are milliseconds.
public struct PresencePolicy: Sendable, Equatable {
  /// The time between two looks while the phone answers.
  public var interval: Int64
  /// How long the phone must be missed before the user counts as gone.
  public var grace: Int64
  /// How long the phone's presence may be unknown before the user counts as out of sight.
  public var unknownGrace: Int64

  public init(interval: Int64, grace: Int64, unknownGrace: Int64) {
    self.interval = interval
    self.grace = grace
    self.unknownGrace = unknownGrace
  }

  init(_ configuration: Configuration) {
    self.init(
      interval: configuration.presenceInterval * 1_000, grace: configuration.presenceGrace * 1_000,
      unknownGrace: configuration.presenceUnknownGrace * 1_000)
  }
}

/// What the looks for a user's phones have shown.
public enum PresenceEvent: Sendable, Equatable {
  /// The phone was found for the first time, or again.
  case found
  /// The phone was missed. The user does not count as gone yet.
  case doubted
  /// The user counts as gone after this time, unless their phone answers.
  case warned(milliseconds: Int64)
  /// The user counts as out of sight after this time, unless their phone's presence becomes known.
  case warnedOfBlindness(milliseconds: Int64)
  /// The user has left.
  case left
  /// The phone's presence was unknown for too long.
  case blinded
}

/// Whether a user is near their phone: decides by the results of the looks, and does nothing by itself.
///
/// All times are milliseconds after boot, suspended or not. The time since the phone last answered counts either as
/// missed or as unknown. So a phone that is missed while Bluetooth also fails at times still ends as left or as blind.
public struct BluetoothWatch: Sendable, Equatable {
  /// ``PresenceEvent/left`` takes at least this many misses.
  public static let leastMisses = 3
  /// The time from the beginning of one look to the next while the phone is missed or unknown.
  public static let doubtfulInterval: Int64 = 5_000
  /// The longest time between the ends of two looks that counts. After a longer time the computer slept or hung, and
  /// counting begins again. Looks for ``BoundPhones/greatestCount`` phones fit in, one after the other, with the
  /// probe's limit of 8 s each.
  static let greatestGap: Int64 = 150_000
  /// How long before the user counts as gone or out of sight a warning comes.
  static let warningTime: Int64 = 10_000

  public enum Phase: Sendable, Equatable {
    /// The phone has not answered yet: its silence does not count.
    case unarmed
    case armed
    /// The phone was missed, or its presence is unknown.
    case doubtful
    /// The user has left, and their phone has not answered since.
    case left
    /// The phone's presence was unknown for too long.
    case blind
  }

  public let policy: PresencePolicy
  public private(set) var phase: Phase
  /// The last look's answer, for people to read.
  public private(set) var last: ProbeAnswer?
  private var lastEnd: Int64?
  private var misses = 0
  private var missedTime: Int64 = 0
  private var unknownTime: Int64 = 0
  private var hasWarned = false
  private var hasWarnedOfBlindness = false

  /// - Parameter isArmed: whether the phone had answered before a restart of the helper. Only this is kept; misses are
  ///   counted again.
  public init(policy: PresencePolicy, isArmed: Bool = false) {
    self.policy = policy
    phase = isArmed ? .armed : .unarmed
  }

  /// Whether the next helper must know that the phone had answered.
  public var isArmed: Bool { phase == .armed || phase == .doubtful }

  /// When the next look begins, if the last look began and ended at these times.
  public func nextProbe(began: Int64, ended: Int64) -> Int64 {
    let pause = phase == .doubtful ? Self.doubtfulInterval : policy.interval
    return max(began + pause, ended)
  }

  /// Takes the results of a look at all phones of the user.
  ///
  /// - Parameter answers: one for each phone that was looked for; at least one.
  public mutating func look(_ answers: [ProbeAnswer], ended now: Int64) -> [PresenceEvent] {
    let answer = Self.verdict(answers)
    defer {
      last = answer
      lastEnd = now
    }
    if answer == .near { return find() }
    guard phase != .unarmed else { return [] }
    book(answer, now: now)
    return conclude()
  }

  /// One phone that is near is enough. A phone whose presence is unknown may be near.
  static func verdict(_ answers: [ProbeAnswer]) -> ProbeAnswer {
    if answers.contains(.near) { return .near }
    for answer in answers { if case .unknown = answer { return answer } }
    return answers.first ?? .unknown("no-phone")
  }

  private mutating func find() -> [PresenceEvent] {
    let isNews = phase != .armed
    phase = .armed
    recount()
    return isNews ? [.found] : []
  }

  private mutating func recount() {
    (misses, missedTime, unknownTime) = (0, 0, 0)
    (hasWarned, hasWarnedOfBlindness) = (false, false)
  }

  /// Counts the time since the last look as missed or unknown.
  private mutating func book(_ answer: ProbeAnswer, now: Int64) {
    let gap = lastEnd.map { now - $0 } ?? 0
    if !(0...Self.greatestGap).contains(gap) { resume() }
    switch (last.map(Evidence.init), Evidence(answer)) {
    case (.miss, .miss): missedTime += gap
    case (.unknown, _), (.miss, .unknown): unknownTime += gap
    // Time counts from the end of the first look that missed the phone: it may have been near until then.
    case (.near, _), (nil, _), (_, .near): break
    }
    if Evidence(answer) == .miss { misses += 1 }
  }

  private mutating func conclude() -> [PresenceEvent] {
    guard phase != .left else { return [] }
    if misses >= Self.leastMisses, missedTime >= policy.grace {
      phase = .left
      return [.left]
    }
    guard phase != .blind else { return [] }
    if unknownTime >= policy.unknownGrace {
      phase = .blind
      return [.blinded]
    }
    var events: [PresenceEvent] = phase == .armed ? [.doubted] : []
    phase = .doubtful
    // A short grace is over before the phone was missed often enough.
    let remaining = max(policy.grace - missedTime, Int64(Self.leastMisses - misses) * Self.doubtfulInterval)
    if !hasWarned, misses > 0, remaining <= Self.warningTime {
      hasWarned = true
      events.append(.warned(milliseconds: max(0, remaining)))
    }
    let sight = policy.unknownGrace - unknownTime
    if !hasWarnedOfBlindness, sight <= Self.warningTime {
      hasWarnedOfBlindness = true
      events.append(.warnedOfBlindness(milliseconds: sight))
    }
    return events
  }

  /// Begins to count again, because the computer slept or the helper hung.
  public mutating func resume() {
    recount()
    (last, lastEnd) = (nil, nil)
    if phase == .doubtful { phase = .armed }
  }

  /// What was begun because the user had left or was out of sight was called off before it was done. It is decided
  /// again: the phone had answered before, also if a changed configuration has begun a new watch since.
  public mutating func wasCalledOff() { phase = .armed }

  /// What an answer counts as.
  private enum Evidence {
    case near, miss, unknown

    init(_ answer: ProbeAnswer) {
      switch answer {
      case .near: self = .near
      case .silent, .impostor: self = .miss
      case .unknown: self = .unknown
      }
    }
  }
}
