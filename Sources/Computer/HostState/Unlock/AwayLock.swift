import Glibc
import HostSystem
import IAMPASSProtocol

/// A session whose screen the helper asked logind to lock because the phone left, kept in `/run/iampass/locked`. It is
/// kept until the phone has approved at that screen or the session is over. The note holds no secret.
public struct AwayLock: Sendable, Equatable {
  /// Notes of another version are not read.
  private static let version: Int64 = 1

  private static let idBytes = 16

  public let uid: UInt32
  public let binding: SessionRecord.Binding

  public init(uid: UInt32, binding: SessionRecord.Binding) {
    self.uid = uid
    self.binding = binding
  }

  /// One session has one note, however often it is locked.
  var id: String {
    let name = "\(uid) \(binding.logindSession) \(binding.leader.pid) \(binding.leader.startTime)"
    return Digest.hexadecimal(Array(Digest.sha256(Array(name.utf8)).prefix(Self.idBytes)))
  }

  /// Whether logind's session is the one that was locked. ``AwayLocks/all`` has checked the leader.
  public func isOf(_ session: LogindSession) -> Bool { binding.matches(session, of: uid, leader: .mayHaveEnded) }

  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "uid": .integer(Int64(uid)),
      "logind_session": .string(binding.logindSession), "leader": SessionRecord.json(binding.leader),
    ]).encoded()
  }

  /// Nil for bytes that are not a note of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let uid = json["uid"]?.integer.flatMap({ UInt32(exactly: $0) }),
      let session = json["logind_session"]?.string, let leader = json["leader"].flatMap(SessionRecord.identity)
    else { return nil }
    self.init(uid: uid, binding: SessionRecord.Binding(logindSession: session, leader: leader))
  }
}

/// `/run/iampass/locked`: the helper writes the notes. The program that asks the phone for an unlock reads and removes
/// them.
public struct AwayLocks: Sendable {
  private let files: RecordFiles

  public init(run: RunFolder) { files = RecordFiles(run: run, name: "locked") }

  /// The notes of sessions whose leader runs. An unreadable note does not count: the phone is then not offered, and the
  /// password opens the screen.
  public var all: [AwayLock] { notes.filter { $0.binding.leader.presence != .gone } }

  private var notes: [AwayLock] {
    let ids = (try? files.ids()) ?? []
    return ids.compactMap { id in
      let bytes = try? files.read(id)
      return bytes.flatMap { $0 }.flatMap(AwayLock.init(parsing:)).flatMap { $0.id == id ? $0 : nil }
    }
  }

  /// Notes that a session is being locked. Notes of sessions that are over are removed.
  public func note(_ binding: SessionRecord.Binding, of uid: UInt32) throws(LedgerError) {
    for known in notes where known.binding.leader.presence == .gone { try files.remove(known.id) }
    let lock = AwayLock(uid: uid, binding: binding)
    try files.write(lock.encoded(), for: lock.id)
  }

  /// Removes the notes of these sessions.
  ///
  /// - Returns: the errors of notes that could not be removed. The phone is offered again for those.
  public func forget(_ sessions: [LogindSession]) -> [LedgerError] {
    var failures: [LedgerError] = []
    for known in notes where sessions.contains(where: known.isOf) {
      do throws(LedgerError) { try files.remove(known.id) } catch { failures.append(error) }
    }
    return failures
  }
}
