import IAMPASSProtocol

/// Whether phones ask for two digits that the terminal shows.
public enum MatchCodes: String, Sendable, CaseIterable {
  case off
  /// Where the computer says what is signed in to: who knows nothing of contexts would not show a code either.
  case on
  /// And a request without a context is not started.
  case required
}

/// What a command changes of an application's settings; nil: as before.
public struct SettingsChange: Sendable {
  public var matchCodes: MatchCodes?
  /// Whether apps may offer the method `facial`, by their word.
  public var appsVouchForFaces: Bool?
  /// How many phones a user may register; within ``ApplicationSettings/phoneCounts``.
  public var phones: Int64?
  /// Whether a computer that may have been copied starts no sign-ins.
  public var holdsClones: Bool?

  public init(
    matchCodes: MatchCodes? = nil, appsVouchForFaces: Bool? = nil, phones: Int64? = nil, holdsClones: Bool? = nil
  ) {
    self.matchCodes = matchCodes
    self.appsVouchForFaces = appsVouchForFaces
    self.phones = phones
    self.holdsClones = holdsClones
  }
}

/// What an administrator chooses for one application.
public struct ApplicationSettings: Sendable, Equatable {
  /// Whether sessions walk away with their phone.
  var walkaway = true
  /// Whether a phone that is not heard of has left.
  var silenceLeaves = false
  var matchCodes = MatchCodes.on
  /// Seconds that a request waits for its answer.
  var answerTime = SessionLifecycle.answerTime
  /// The greatest length of a session, in seconds, whatever its computer asks for.
  var greatestDuration = SessionLifecycle.durations.upperBound
  /// The program that sends registration links; empty: there is none.
  var hook = ""
  /// Whether apps may vouch for their user's face: the method `facial`.
  var appsVouchForFaces = false
  /// How many phones a user may register. Those whose user has more stay.
  var phones: Int64 = 1
  /// Whether a computer that may have been copied starts no sign-ins until an administrator has settled that.
  var holdsClones = false
  /// No new sign-ins, and no management.
  var isDisabled = false

  /// Seconds.
  static let answerTimes: ClosedRange<Int64> = 10...300
  /// Phones of a user.
  public static let phoneCounts: ClosedRange<Int64> = 1...2
  /// A path, in bytes.
  static let greatestHookLength = 4_095

  init() {}
}
