import HostSystem
import IAMPASSProtocol

/// A session that the helper logs out, kept in `/run/iampass/leaving` until all its processes are gone.
///
/// Its host removes the record as soon as logind has ended the session. Processes that stay are killed seconds later,
/// by the next helper if this one has ended meanwhile. The note holds no secret.
public struct LeavingSession: Sendable, Equatable {
  /// Notes of another version are not read.
  private static let version: Int64 = 1
  private static let times: ClosedRange<Int64> = 0...(1 << 50)

  /// The record's id; another id if the session has no record.
  public let id: String
  /// ``SessionRecord/publicName``; ``id`` if the session has no record.
  public let publicName: String
  public let user: UnixUsername
  public let uid: UInt32
  public let service: String
  public let remoteHost: String?
  public let binding: SessionRecord.Binding
  /// Whether a record watches the session. Without one, only this note tells the next helper of the logout.
  public let hasRecord: Bool
  /// When logind was called to end the session, in milliseconds after boot; 0 if it was not.
  public var terminatedAt: Int64 = 0
  /// Whether its processes got a signal, or logind has taken the call: nothing calls the logout off any more. It stays
  /// false if the session has a record.
  public var isEnding = false

  public init(_ record: SessionRecord, _ binding: SessionRecord.Binding) {
    id = record.id
    publicName = record.publicName
    user = record.user
    uid = record.uid
    service = record.service
    remoteHost = record.remoteHost
    self.binding = binding
    hasRecord = true
  }

  /// A session that was not opened by a phone.
  ///
  /// - Parameters:
  ///   - id: an id that ``FileID/isValid(_:)`` takes and that is not a record's.
  ///   - service: a name for the log in place of a PAM service.
  public init(id: String, user: UnixUsername, uid: UInt32, service: String, binding: SessionRecord.Binding) {
    self.id = id
    publicName = id
    self.user = user
    self.uid = uid
    self.service = service
    remoteHost = nil
    self.binding = binding
    hasRecord = false
  }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "id": .string(id), "session_label": .string(publicName),
      "user": .string(user.text), "uid": .integer(Int64(uid)),
      "service": .string(service), "remote_host": remoteHost.map { .string($0) },
      "logind_session": .string(binding.logindSession), "leader": SessionRecord.json(binding.leader),
      "terminated_at": .integer(terminatedAt), "has_record": .bool(hasRecord), "is_ending": .bool(isEnding),
    ]).encoded()
  }

  /// Nil for bytes that are not a note of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version, let id = json["id"]?.string,
      let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }),
      let uid = json["uid"]?.integer.flatMap({ UInt32(exactly: $0) }), let service = json["service"]?.string,
      let session = json["logind_session"]?.string, let leader = json["leader"].flatMap(SessionRecord.identity),
      let terminatedAt = json["terminated_at"]?.integer, Self.times.contains(terminatedAt)
    else { return nil }
    self.id = id
    publicName = StartedSession.label(json["session_label"]?.string) ?? id
    self.user = user
    self.uid = uid
    self.service = service
    remoteHost = json["remote_host"]?.string
    binding = SessionRecord.Binding(logindSession: session, leader: leader)
    self.terminatedAt = terminatedAt
    // Notes of earlier versions do not say it.
    hasRecord = json["has_record"]?.bool ?? true
    isEnding = json["is_ending"]?.bool ?? false
  }
}

/// `/run/iampass/leaving`: one file for each session that is being logged out, by its record's id. Only the helper uses
/// it.
public struct LeavingSessions: Sendable {
  private let files: RecordFiles

  public init(run: RunFolder) { files = RecordFiles(run: run, name: "leaving") }

  /// Names of all files that may be notes, in no order.
  public func ids() throws(LedgerError) -> [String] { try files.ids() }

  /// - Throws: ``LedgerError/notARecord`` for a file that is not a note of this version, or another session's.
  public func read(_ id: String) throws(LedgerError) -> LeavingSession {
    guard let session = try files.read(id).flatMap(LeavingSession.init(parsing:)), session.id == id else {
      throw .notARecord
    }
    return session
  }

  public func write(_ session: LeavingSession) throws(LedgerError) {
    try files.write(session.encoded(), for: session.id)
  }

  /// A missing file is not an error.
  public func remove(_ id: String) throws(LedgerError) { try files.remove(id) }
}
