/// The option that makes `lost_user_mobile_device` also end the user's sessions (an extension that services may
/// ignore). The signature covers it. Without it sessions go on, as with the published clients.
public struct LostDeviceSessions: Sendable, Equatable {
  /// The greatest number of ids.
  public static let greatestKept = 64
  /// The reply's member with the number of ended sessions. Other services do not send it.
  static let endedName = "sessions_ended"
  /// The query's item with the id of the phone that is lost. Without it, all of the user's phones are lost.
  public static let phoneName = "phone"
  private static let endName = "end_sessions"
  private static let keepName = "keep_sessions"
  private static let idCharacters = Set("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

  /// Ids of sessions that go on, see ``StartedSession/name``.
  public let kept: [String]

  /// - Parameter kept: ids of sessions that go on. Malformed ids are left out, since no session has them.
  public init(kept: [String]) {
    self.kept = kept.filter { !$0.isEmpty && $0.utf8.count <= 64 && $0.utf8.allSatisfy(Self.idCharacters.contains) }
  }

  public enum Asked: Sendable, Equatable {
    case no
    case yes(LostDeviceSessions)
    /// The option has a value that this version does not know.
    case unclear
  }

  /// - Parameter query: the decoded items of a request's query.
  public static func asked(in query: [(name: String, value: String)]) -> Asked {
    let ends = query.filter { $0.name == endName }.map(\.value)
    let keeps = query.filter { $0.name == keepName }.map(\.value)
    if ends.isEmpty, keeps.isEmpty { return .no }
    guard ends == ["1"], keeps.count <= 1 else { return .unclear }
    let ids = (keeps.first ?? "").split(separator: ",").map(String.init)
    let sessions = LostDeviceSessions(kept: ids)
    return sessions.kept == ids && ids.count <= greatestKept ? .yes(sessions) : .unclear
  }

  /// The items of a request's query.
  public var query: [(String, String)] {
    [(Self.endName, "1")] + (kept.isEmpty ? [] : [(Self.keepName, kept.joined(separator: "%2C"))])
  }

  /// The number of sessions that a reply reports as ended; nil if the service ended none on request.
  public static func ended(in body: [UInt8]) throws(MessageError) -> Int64? {
    try JSON.acknowledged(body)[endedName]?.integer
  }
}
