import PresenceLink

/// The probe, as the helper asks it: one question at a time. Nothing here waits. Times are milliseconds after boot.
public protocol PhoneProbe: AnyObject {
  /// Asks for one look. An earlier question is given up.
  func ask(_ request: ProbeRequest, at now: Int64)
  /// The answer to the question, once; nil while it is not there. A question that stays unanswered is answered by
  /// ``ProbeAnswer/unknown(_:)``.
  func answer(at now: Int64) -> ProbeAnswer?
  /// Gives the question up, and the connection.
  func rest()
  /// Readable once there may be an answer; negative if none is awaited.
  var descriptor: Int32 { get }
  /// When ``answer(at:)`` has something to say although the descriptor is silent; nil without a question.
  var deadline: Int64? { get }
}
