import Glibc
import HostState
import HostSystem
import IAMPASSProtocol

/// The place of a command, as far as the system knows it.
public struct CommandPlace: Sendable, Equatable {
  /// logind's session that its processes belong to; nil outside of any, as in a terminal that the user's own service
  /// manager has started.
  public let logindSession: String?
  /// The user who signed in; nil outside any sign-in.
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
  /// What the kernel says where nobody signed in (audit's AUDIT_UID_UNSET).
  private static let nobody = UInt32.max

  public static func current() -> CommandPlace {
    let login = ProcessFile.read("/proc/self/loginuid", limit: greatestFile) ?? []
    let uid = UInt32(String(decoding: login.prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
    return CommandPlace(
      logindSession: logindSession(ProcessUnits(of: getpid())), loginUID: uid == nobody ? nil : uid,
      ancestors: processes(from: getpid()))
  }

  /// The session whose processes run in these units; nil outside any.
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

  /// proc(5), field 4 of `/proc/PID/stat`; the name before it may itself hold spaces and parentheses.
  private static func parent(of pid: Int32) -> Int32? {
    guard let bytes = ProcessFile.read("/proc/\(pid)/stat", limit: greatestFile),
      let nameEnd = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(nameEnd + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? Int32(String(decoding: fields[1], as: UTF8.self)) : nil
  }
}

extension CommandPlace {
  /// The records of the sign-ins that the command runs under: ending one of these would end the command.
  ///
  /// If the system does not tell which session that is, all sessions of the signed-in user count.
  public func own(among records: [SessionRecord]) -> [SessionRecord] {
    let certain = records.filter(isAround)
    // sudo's own record does not say which session sudo was called in.
    if logindSession != nil || certain.contains(where: { $0.binding != nil }) { return certain }
    return records.filter { isAround($0) || $0.uid == loginUID }
  }

  /// Whether the record is of the login session that the command runs in, and of the user who signed in there.
  ///
  /// False if the system does not tell both.
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
  /// The service's name for the session. If the service did not send a name, the last part of the session's address,
  /// which is the name at a service of ours.
  public var nameAtService: String {
    sessionName ?? statusURL.split(separator: "/").last.map(String.init) ?? ""
  }
}
