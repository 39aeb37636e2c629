import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// The session and processes that a command runs in, as far as the system knows them.
public struct CommandPlace: Sendable, Equatable {
  /// The logind session that the command belongs to; nil if there is none, as in a terminal that the user's own service
  /// manager has started.
  public let logindSession: String?
  /// The user who signed in; nil outside of a sign-in.
  public let loginUID: UInt32?
  /// The process itself, its parent, and so on.
  public let ancestors: [ProcessIdentity]

  public init(logindSession: String?, loginUID: UInt32?, ancestors: [ProcessIdentity]) {
    self.logindSession = logindSession
    self.loginUID = loginUID
    self.ancestors = ancestors
  }
}

extension CommandPlace {
  private static let greatestDepth = 128
  private static let greatestFile = 4_096
  /// The kernel's value outside of a sign-in (audit's AUDIT_UID_UNSET).
  private static let nobody = UInt32.max

  public static func current() -> CommandPlace {
    let login = ProcessFile.read("/proc/self/loginuid", limit: greatestFile) ?? []
    let uid = UInt32(String(decoding: login.prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
    return CommandPlace(
      logindSession: logindSession(ProcessUnits(of: getpid())), loginUID: uid == nobody ? nil : uid,
      ancestors: processes(from: getpid()))
  }

  /// The session that these units belong to; nil if there is none.
  static func logindSession(_ units: ProcessUnits) -> String? {
    units.session.flatMap { LogindSession.isID($0.id) ? $0.id : nil }
  }

  private static func processes(from pid: Int32) -> [ProcessIdentity] {
    var found: [ProcessIdentity] = []
    var next = pid
    while next > 1, found.count < greatestDepth, let process = ProcessIdentity(pid: next) {
      found.append(process)
      guard let parent = parent(of: next) else { break }
      next = parent
    }
    return found
  }

  /// proc(5), field 4 of `/proc/PID/stat`; the name before it may contain spaces and parentheses.
  private static func parent(of pid: Int32) -> Int32? {
    guard let bytes = ProcessFile.read("/proc/\(pid)/stat", limit: greatestFile),
      let nameEnd = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(nameEnd + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? Int32(String(decoding: fields[1], as: UTF8.self)) : nil
  }
}

extension CommandPlace {
  /// The records of the sign-ins that the command runs in. If one of these sessions ended, the command would end too.
  ///
  /// If that session is not known, all sessions of the signed-in user count.
  public func own(among records: [SessionRecord]) -> [SessionRecord] {
    let certain = records.filter(isAround)
    // sudo's own record does not name the session in which sudo was called.
    if logindSession != nil || certain.contains(where: { $0.binding != nil }) { return certain }
    return records.filter { isAround($0) || $0.uid == loginUID }
  }

  /// Whether the record is of the command's login session, and of the user who signed in there.
  ///
  /// False if either is not known.
  public func isIn(_ record: SessionRecord) -> Bool {
    guard let logindSession, let loginUID else { return false }
    return !record.isReleased && record.binding?.logindSession == logindSession && record.uid == loginUID
  }

  private func isAround(_ record: SessionRecord) -> Bool {
    if let binding = record.binding {
      return binding.logindSession == logindSession || ancestors.contains(binding.leader)
    }
    return ancestors.contains(record.process)
  }
}

extension SessionRecord {
  /// The service's name for the session. If the service did not send one, it is the last part of the session's address,
  /// which is the name at `iampass-server`.
  public var nameAtService: String {
    sessionName ?? statusURL.split(separator: "/").last.map(String.init) ?? ""
  }
}
