/// How the broker's attempt ended. The raw values are part of the frames.
public enum BrokerEnding: UInt8, Sendable, CaseIterable {
  case approved = 1
  case denied
  case notAnswered
  case noToken
  /// The phone was not asked or cannot be. The next module asks for the password.
  case aside
  case misconfigured
  /// Text was typed at a question for Enter alone.
  case textTyped
  case abandoned
  /// The user has an open request, or there are too many callers. The usual cause is a request that is just ending.
  case busy
}
