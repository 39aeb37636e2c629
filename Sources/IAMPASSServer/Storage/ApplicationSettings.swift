import IAMPASSProtocol

/// Whether phones ask for two digits that the terminal shows.
public enum MatchCodes: String, Sendable, CaseIterable {
  case off
  /// Where the computer says what is signed in to: who knows nothing of contexts would not show a code either.
  case on
  /// And a request without a context is not started.
  case required
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
  /// No new sign-ins, and no management.
  var isDisabled = false

  /// Seconds.
  static let answerTimes: ClosedRange<Int64> = 10...300
  /// A path, in bytes.
  static let greatestHookLength = 4_095

  init() {}
}
