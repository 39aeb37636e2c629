import PresenceLink

/// The Bluetooth probe, which takes one question at a time. No function here waits. Times are milliseconds after boot.
public protocol PhoneProbe: AnyObject {
  /// Asks for one look. It cancels an earlier question.
  func ask(_ request: ProbeRequest, at now: Int64)
  /// The answer, once; nil while there is none. If none comes in time, it is ``ProbeAnswer/unknown(_:)``.
  func answer(at now: Int64) -> ProbeAnswer?
  /// Cancels the question and closes the connection.
  func rest()
  /// Readable once there may be an answer; negative if none is awaited.
  var descriptor: Int32 { get }
  /// When ``answer(at:)`` has an answer although the descriptor is silent; nil without a question.
  var deadline: Int64? { get }
}
