import IAMPASSProtocol

/// Whether phones ask for two digits that the terminal shows.
public enum MatchCodes: String, Sendable, CaseIterable {
  case off
  /// For computers that send a context: others would not show a code either.
  case on
  /// A request without a context is also not started.
  case required
}

/// Whether the method `device` counts with a credential that may be synced between devices.
public enum SyncedPasskeys: String, Sendable, CaseIterable {
  case accepted
  case refused
}

/// A command's changes of an application's settings; nil: unchanged.
public struct SettingsChange: Sendable {
  public var matchCodes: MatchCodes?
  /// Whether apps may offer the method `facial`, which only they vouch for.
  public var appsVouchForFaces: Bool?
  /// How many phones a user may register; within ``ApplicationSettings/phoneCounts``.
  public var phones: Int64?
  /// Whether a computer that may have been copied cannot start sign-ins.
  public var holdsClones: Bool?
  /// Whether the method `device` counts with a credential that may be synced between devices.
  public var acceptsSyncedPasskeys: Bool?

  public init(
    matchCodes: MatchCodes? = nil, appsVouchForFaces: Bool? = nil, phones: Int64? = nil, holdsClones: Bool? = nil,
    acceptsSyncedPasskeys: Bool? = nil
  ) {
    self.matchCodes = matchCodes
    self.appsVouchForFaces = appsVouchForFaces
    self.phones = phones
    self.holdsClones = holdsClones
    self.acceptsSyncedPasskeys = acceptsSyncedPasskeys
  }
}

/// What an administrator chooses for one application.
public struct ApplicationSettings: Sendable, Equatable {
  /// Whether sessions end when their phone leaves.
  var walkaway = true
  /// Whether a silent phone counts as one that has left.
  var silenceLeaves = false
  var matchCodes = MatchCodes.on
  /// How long a request waits for its answer, in seconds.
  var answerTime = Self.usualAnswerTime
  /// The longest time of a session in seconds, even if its computer asks for more.
  var greatestDuration = Self.longestDuration
  /// The program that sends registration links; empty: there is none.
  var hook = ""
  /// Whether apps may vouch for their user's face (the method `facial`).
  var appsVouchForFaces = false
  /// How many phones a user may register. Phones beyond this number stay.
  var phones: Int64 = 1
  /// Whether a computer that may have been copied cannot start sign-ins until an administrator has settled it.
  var holdsClones = false
  /// Whether the method `device` counts with a credential that may be synced between devices.
  var acceptsSyncedPasskeys = true
  /// Whether the application has no new sign-ins and no management.
  var isDisabled = false

  /// How long a request waits for its answer unless the administrator chooses, in seconds.
  static let usualAnswerTime: Int64 = 60
  /// The longest time that a session can have, in seconds: 30 days.
  static let longestDuration: Int64 = 2_592_000
  /// The valid answer times in seconds.
  static let answerTimes: ClosedRange<Int64> = 10...300
  /// The valid numbers of phones of a user.
  public static let phoneCounts: ClosedRange<Int64> = 1...2
  /// The greatest length of the hook's path in bytes.
  static let greatestHookLength = 4_095

  init() {}
}
