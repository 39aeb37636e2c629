import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why `iampass.conf` is not used.
public enum ConfigurationError: Error, Sendable, Equatable {
  case keyValue(KeyValueError)
  /// Key, the line it stands at, and what it takes.
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

/// `/etc/iampass/iampass.conf`. A value that is not understood refuses the whole file.
public struct Configuration: Sendable, Equatable {
  public static let path = "/etc/iampass/iampass.conf"
  public static let programFolder = "/usr/libexec/iampass"

  /// When sign-in context goes to the service.
  public enum ContextPolicy: String, Sendable, CaseIterable { case auto, yes, no }

  /// Whose word counts for an approval.
  public enum ApprovalPolicy: String, Sendable, CaseIterable {
    /// The service's.
    case service
    /// The phone's own: this computer verifies its signature by a key of ``PinnedPhones``.
    case verified
  }

  /// What becomes of a command that is too long for the phone to show.
  public enum LongCommandPolicy: String, Sendable, CaseIterable {
    /// Its beginning and end are shown, with its length and digest.
    case show
    /// The phone is not asked.
    case refuse
  }

  /// What the helper does when a session leaves, ends, expires or cannot be asked for.
  public enum EndAction: String, Sendable, CaseIterable { case logout, lock, ignore }

  /// What the helper does if a session does not say in time that it is locked.
  public enum LockFailureAction: String, Sendable, CaseIterable { case logout, ignore }

  /// What becomes of the processes that a user's own service manager runs after the last session was logged out.
  public enum LingerAction: String, Sendable, CaseIterable { case stop, keep }

  /// Whether the helper looks for bound phones (``BoundPhones``).
  public enum PresenceSearch: String, Sendable, CaseIterable { case off, bluetooth }

  /// Which pairings of bound phones count.
  public enum PresenceKeyRule: String, Sendable, CaseIterable { case any, authenticated }

  /// Nil: not set up yet, the module stands aside.
  public var server: ServerURL?
  public var signing = SigningScheme.documented
  public var dialect = Dialect.iampass
  public var caFile: String?
  public var proxy: String?
  /// PAM services that the module answers; in any other it stands aside.
  public var services = ["sudo", "sudo-i", "login", "sshd"]
  /// Services that the table of the program does not have; nothing is read where the text alone is given.
  public var ownServices = OwnServices()
  public var requiresSignedReplies = false
  /// Replies' signatures must cover what was asked, too; ``requiresSignedReplies`` is then true as well. A key of its
  /// own: versions that do not know it warn and go on.
  public var requiresSignedTargets = false
  /// Seconds; the service's own default of an hour would end a working day's session.
  public var sessionDuration: Int64 = 12 * 3600
  /// Seconds. Shorter than sshd's LoginGraceTime of 120 s and login's LOGIN_TIMEOUT of 60 s.
  public var approvalTimeout: Int64 = 30
  /// Seconds that a locker which shows nothing waits at a time. Until then what is typed there is lost.
  public var unlockTimeout: Int64 = 8
  public var approvals = ApprovalPolicy.service
  public var sendContext = ContextPolicy.auto
  public var sendsCommand = false
  public var longCommand = LongCommandPolicy.show
  public var sharedTokens = SharedTokens.refused
  public var users = UserSource.file
  /// Who of the service's list may sign in here.
  public var userSelection: UserSelection {
    get { chosenUsers ?? .usual }
    set { chosenUsers = newValue == .usual ? nil : newValue }
  }
  /// Nil: the usual ones, which a computer with a list of its own need not make.
  private var chosenUsers: UserSelection?
  public var onWalkaway = EndAction.logout
  /// Seconds.
  public var walkawayGrace: Int64 = 0
  public var onEnd = EndAction.logout
  public var onExpiry = EndAction.lock
  /// Nil: locks graphical sessions at a local seat, ignores others.
  public var onUnreachable: EndAction?
  /// Seconds.
  public var unreachableGrace: Int64 = 15 * 60
  public var onLockFailure = LockFailureAction.logout
  public var onLinger = LingerAction.stop
  public var unlock = UnlockPolicy.off
  public var keyring = KeyringPolicy.off
  public var offlineMethods = OfflineMethods()
  /// Seconds after which a session ends that was opened without the service.
  public var offlineSession: Int64 = 4 * 3600
  public var presence = PresenceSearch.off
  /// Seconds from one look for a phone to the next while it answers.
  public var presenceInterval: Int64 = 20
  /// Seconds for which a phone is missed before its user counts as gone.
  public var presenceGrace: Int64 = 30
  /// A phone that restarts or has an empty battery looks like one that left. A lock costs its user least.
  public var onPresenceLeft = EndAction.lock
  /// Seconds.
  public var presenceUnknownGrace: Int64 = 5 * 60
  public var onPresenceUnknown = EndAction.lock
  public var presenceKey = PresenceKeyRule.any
  /// Unanswered or denied requests in ``requestWindow`` before no more are sent.
  public var maxRequests = 5
  /// Seconds.
  public var requestWindow: Int64 = 10 * 60
  public var runFolder = "/run/iampass"
  /// What outlives a start of the computer.
  public var stateFolder = "/var/lib/iampass"
  public var worker = Configuration.programFolder + "/iampass-https"
  public var workerUser = "_iampass"
  /// The socket at which workers wait for logins, in ``runFolder``.
  public var standby: String { runFolder + "/worker" }
  /// The socket at which sealed passwords are kept and handed out, in ``runFolder``: root alone may connect.
  public var keyringSocket: String { runFolder + "/keyring" }
  /// The broker's socket, in a folder of its own beside ``runFolder``: everybody may connect.
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

  /// Not a table of key paths or a dictionary: the runtime makes their types again in each process, which took a fifth of
  /// a sign-in's instructions.
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

  /// Nil for any other word.
  private static func flag(_ text: String, _ yes: String, _ no: String) -> Bool? {
    text == yes ? true : text == no ? false : nil
  }

  private static func absolutePath(_ text: String) -> String? {
    text.hasPrefix("/") && text.utf8.count < 1024 && !text.utf8.contains(0) ? text : nil
  }
}
