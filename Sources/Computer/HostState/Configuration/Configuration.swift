import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why `iampass.conf` is not used.
public enum ConfigurationError: Error, Sendable, Equatable {
  case keyValue(KeyValueError)
  /// The key, its line's number, and the values that it takes.
  case badValue(String, line: Int, takes: String)
  /// A file of ``OwnServices``, or their folder.
  case services(OwnServicesError, path: String)

  public func explanation(path: String) -> String {
    switch self {
    case .keyValue(let error): error.explanation(path: path)
    case .badValue(let key, let line, let takes): "\(path):\(line): bad \(key): takes \(takes)"
    case .services(let error, let path): error.explanation(path: path)
    }
  }
}

/// `/etc/iampass/iampass.conf`. A value that is not valid makes the whole file invalid.
public struct Configuration: Sendable, Equatable {
  public static let path = "/etc/iampass/iampass.conf"
  public static let programFolder = "/usr/libexec/iampass"

  /// When the sign-in's context is sent to the service.
  public enum ContextPolicy: String, Sendable, CaseIterable { case auto, yes, no }

  /// What proves an approval.
  public enum ApprovalPolicy: String, Sendable, CaseIterable {
    /// The service's answer.
    case service
    /// The phone's signature, which this computer verifies with a key of ``PinnedPhones``.
    case verified
  }

  /// What happens to a command that is too long for the phone to show.
  public enum LongCommandPolicy: String, Sendable, CaseIterable {
    /// The phone shows the command's beginning and end, its length and its digest.
    case show
    /// The phone is not asked.
    case refuse
  }

  /// What the helper does when a session's phone leaves, when it ends or expires, or when the service does not answer.
  public enum EndAction: String, Sendable, CaseIterable { case logout, lock, ignore }

  /// What the helper does if a session does not report in time that it is locked.
  public enum LockFailureAction: String, Sendable, CaseIterable { case logout, ignore }

  /// What happens to the processes of a user's own service manager after the user's last session was logged out.
  public enum LingerAction: String, Sendable, CaseIterable { case stop, keep }

  /// Whether the helper looks for bound phones (``BoundPhones``).
  public enum PresenceSearch: String, Sendable, CaseIterable { case off, bluetooth }

  /// Which pairings of bound phones count.
  public enum PresenceKeyRule: String, Sendable, CaseIterable { case any, authenticated }

  /// The service's address. If it is nil, sign-in by phone is not set up yet, and the module asks no phone.
  public var server: ServerURL?
  public var signing = SigningScheme.documented
  public var dialect = Dialect.iampass
  public var caFile: String?
  public var proxy: String?
  /// The PAM services in which the module asks the phone.
  public var services = ["sudo", "sudo-i", "login", "sshd"]
  /// Services that ``ServiceTable`` does not have; none if only a text is parsed.
  public var ownServices = OwnServices()
  public var requiresSignedReplies = false
  /// The signatures of replies must also cover the request's target; ``requiresSignedReplies`` is then true as well. It
  /// has its own key, so that versions that do not know it warn and go on.
  public var requiresSignedTargets = false
  /// The longest time of a session, in seconds. The service's own default of an hour would end sessions within a
  /// working day.
  public var sessionDuration: Int64 = 12 * 3600
  /// The time for the phone's answer, in seconds. It is shorter than sshd's LoginGraceTime of 120 s and login's
  /// LOGIN_TIMEOUT of 60 s.
  public var approvalTimeout: Int64 = 30
  /// How long a locker that shows nothing waits for the phone at a time, in seconds. What the user types meanwhile is
  /// lost.
  public var unlockTimeout: Int64 = 8
  public var approvals = ApprovalPolicy.service
  public var sendContext = ContextPolicy.auto
  public var sendsCommand = false
  public var longCommand = LongCommandPolicy.show
  public var sharedTokens = SharedTokens.refused
  public var users = UserSource.file
  /// Which users of the service's list may sign in here.
  public var userSelection: UserSelection {
    get { chosenUsers ?? .usual }
    set { chosenUsers = newValue == .usual ? nil : newValue }
  }
  /// Nil: the usual selection, which is not built on a computer that does not need it.
  private var chosenUsers: UserSelection?
  public var onWalkaway = EndAction.logout
  /// How long a phone must be away before its session ends, in seconds.
  public var walkawayGrace: Int64 = 0
  public var onEnd = EndAction.logout
  public var onExpiry = EndAction.lock
  /// Nil locks graphical sessions at a local seat, and leaves others alone.
  public var onUnreachable: EndAction?
  /// How long the service must be out of reach before ``onUnreachable`` applies, in seconds.
  public var unreachableGrace: Int64 = 15 * 60
  public var onLockFailure = LockFailureAction.logout
  public var onLinger = LingerAction.stop
  public var unlock = UnlockPolicy.off
  public var keyring = KeyringPolicy.off
  public var offlineMethods = OfflineMethods()
  /// The time of a session that was opened without the service, in seconds.
  public var offlineSession: Int64 = 4 * 3600
  public var presence = PresenceSearch.off
  /// The time between two looks for a phone that answers, in seconds.
  public var presenceInterval: Int64 = 20
  /// How long a phone must be missed before its user counts as gone, in seconds.
  public var presenceGrace: Int64 = 30
  /// A phone that restarts or has an empty battery looks like one that has left. A lock costs its user least.
  public var onPresenceLeft = EndAction.lock
  /// How long a phone's presence may be unknown before its user counts as out of sight, in seconds.
  public var presenceUnknownGrace: Int64 = 5 * 60
  public var onPresenceUnknown = EndAction.lock
  public var presenceKey = PresenceKeyRule.any
  /// The number of unanswered or denied requests in ``requestWindow`` after which no more are sent.
  public var maxRequests = 5
  /// The time in which ``maxRequests`` counts, in seconds.
  public var requestWindow: Int64 = 10 * 60
  public var runFolder = "/run/iampass"
  /// The folder for data that outlives a restart of the computer.
  public var stateFolder = "/var/lib/iampass"
  public var worker = Configuration.programFolder + "/iampass-https"
  public var workerUser = "_iampass"
  /// The socket of workers that wait for sign-ins, in ``runFolder``.
  public var standby: String { runFolder + "/worker" }
  /// The socket of the program that seals and opens passwords, in ``runFolder``. Only root may connect.
  public var keyringSocket: String { runFolder + "/keyring" }
  /// The broker's socket, in its own folder beside ``runFolder``. All users may connect.
  public var broker: String { runFolder + "-broker/socket" }
  /// Keys that this version does not know, for a warning.
  public var unknownKeys: [String] = []

  public init() {}

  /// Reads the file, which others may read but not write, and ``OwnServices`` beside it.
  public init(path: String) throws(ConfigurationError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(path: path, privacy: .readableByAll) } catch { throw .keyValue(error) }
    try self.init(file)
    ownServices = try OwnServices(folder: SetupPlace(configuration: path).ownServices)
  }

  /// Reads a file's text.
  public init(parsing text: [UInt8]) throws(ConfigurationError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(parsing: text) } catch { throw .keyValue(error) }
    try self.init(file)
  }

  private init(_ file: KeyValueFile) throws(ConfigurationError) {
    for entry in file.entries {
      switch read(entry.value, for: entry.key) {
      case .good: break
      case .unknown: unknownKeys.append(entry.key)
      case .bad(let takes): throw .badValue(entry.key, line: entry.line, takes: takes)
      }
    }
    if requiresSignedTargets { requiresSignedReplies = true }
  }
}

extension Configuration {
  private enum Verdict {
    case good, unknown
    case bad(takes: String)
  }

  /// This is not a table of key paths or a dictionary. The runtime builds their types in each process, which took a
  /// fifth of a sign-in's instructions.
  private mutating func read(_ text: String, for key: String) -> Verdict {
    switch key {
    case "server": Self.setOptional(&server, text, "an https address") { try? ServerURL($0) }
    case "signing": Self.choose(&signing, text)
    case "dialect": Self.choose(&dialect, text)
    case "ca_file": Self.setOptional(&caFile, text, "an absolute path") { Self.absolutePath($0) }
    case "proxy": Self.setOptional(&proxy, text, "an http address") { $0.hasPrefix("http://") ? $0 : nil }
    case "services": Self.set(&services, text, "names of PAM services, or @desktop") { ServiceNames.read($0) }
    case "signed_replies": Self.set(&requiresSignedReplies, text, "required, off") { Self.flag($0, "required", "off") }
    case "signed_targets": Self.set(&requiresSignedTargets, text, "required, off") { Self.flag($0, "required", "off") }
    case "session_duration":
      Self.setSeconds(&sessionDuration, text, 60...30 * 86_400, "a duration from 1m to 720h, such as 12h")
    case "approval_timeout": Self.set(&approvalTimeout, text, ApprovalTimeout.takes) { ApprovalTimeout.seconds($0) }
    case "unlock_timeout": Self.setSeconds(&unlockTimeout, text, 3...90, "a duration from 3s to 90s")
    case "approvals": Self.choose(&approvals, text)
    case "send_context": Self.choose(&sendContext, text)
    case "send_command": Self.set(&sendsCommand, text, "yes, no") { Self.flag($0, "yes", "no") }
    case "long_command": Self.choose(&longCommand, text)
    case "shared_tokens": Self.choose(&sharedTokens, text)
    case "users": Self.choose(&users, text)
    case "users_from_service":
      Self.set(&userSelection, text, "ranges of uids above 0, and groups, such as 1000-59999 group:staff") {
        UserSelection($0)
      }
    case "on_walkaway": Self.choose(&onWalkaway, text)
    case "walkaway_grace": Self.setSeconds(&walkawayGrace, text, 0...86_400, "a duration from 0s to 24h")
    case "on_end": Self.choose(&onEnd, text)
    case "on_expiry": Self.choose(&onExpiry, text)
    case "on_unreachable": Self.setOptional(&onUnreachable, text, "logout, lock, ignore") { EndAction(rawValue: $0) }
    case "unreachable_grace": Self.setSeconds(&unreachableGrace, text, 0...30 * 86_400, "a duration from 0s to 720h")
    case "on_lock_failure": Self.choose(&onLockFailure, text)
    case "on_linger": Self.choose(&onLinger, text)
    case "unlock": Self.choose(&unlock, text)
    case "keyring": Self.choose(&keyring, text)
    case "methods_offline": Self.set(&offlineMethods, text, OfflineMethods.takes) { OfflineMethods(reading: $0) }
    case "offline_session":
      Self.setSeconds(&offlineSession, text, 60...30 * 86_400, "a duration from 1m to 720h, such as 4h")
    case "presence": Self.choose(&presence, text)
    case "presence_interval": Self.setSeconds(&presenceInterval, text, 5...120, "a duration from 5s to 2m")
    case "presence_grace": Self.setSeconds(&presenceGrace, text, 0...3_600, "a duration from 0s to 1h")
    case "on_presence_left": Self.choose(&onPresenceLeft, text)
    case "presence_unknown_grace":
      Self.setSeconds(&presenceUnknownGrace, text, 10...86_400, "a duration from 10s to 24h")
    case "on_presence_unknown": Self.choose(&onPresenceUnknown, text)
    case "presence_key": Self.choose(&presenceKey, text)
    case "max_requests":
      Self.set(&maxRequests, text, "a number from 1 to 20") { Int($0).flatMap { (1...20).contains($0) ? $0 : nil } }
    case "request_window": Self.setSeconds(&requestWindow, text, 60...86_400, "a duration from 1m to 24h")
    case "run_dir": Self.set(&runFolder, text, "an absolute path") { Self.absolutePath($0) }
    case "state_dir": Self.set(&stateFolder, text, "an absolute path") { Self.absolutePath($0) }
    case "worker": Self.set(&worker, text, "an absolute path") { Self.absolutePath($0) }
    case "worker_user": Self.set(&workerUser, text, "a user's name") { UnixUsername(validating: $0)?.text }
    default: .unknown
    }
  }

  private static func set<Value>(
    _ field: inout Value, _ text: String, _ takes: String, _ convert: (String) -> Value?
  ) -> Verdict {
    guard let value = convert(text) else { return .bad(takes: takes) }
    field = value
    return .good
  }

  /// For a key without a default: a bad value must not count as an unset key.
  private static func setOptional<Value>(
    _ field: inout Value?, _ text: String, _ takes: String, _ convert: (String) -> Value?
  ) -> Verdict {
    guard let value = convert(text) else { return .bad(takes: takes) }
    field = value
    return .good
  }

  private static func choose<Value: RawRepresentable & CaseIterable>(
    _ field: inout Value, _ text: String
  ) -> Verdict where Value.RawValue == String {
    guard let value = Value(rawValue: text) else {
      return .bad(takes: Value.allCases.map(\.rawValue).joined(separator: ", "))
    }
    field = value
    return .good
  }

  private static func setSeconds(
    _ field: inout Int64, _ text: String, _ bounds: ClosedRange<Int64>, _ takes: String
  ) -> Verdict {
    set(&field, text, takes) { TimeSpan.seconds($0).flatMap { bounds.contains($0) ? $0 : nil } }
  }

  /// True for `yes`, false for `no`; nil for any other word.
  private static func flag(_ text: String, _ yes: String, _ no: String) -> Bool? {
    text == yes ? true : text == no ? false : nil
  }

  private static func absolutePath(_ text: String) -> String? {
    text.hasPrefix("/") && text.utf8.count < 1024 && !text.utf8.contains(0) ? text : nil
  }
}
