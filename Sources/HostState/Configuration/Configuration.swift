import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why `iampass.conf` is not used.
public enum ConfigurationError: Error, Sendable, Equatable {
  case keyValue(KeyValueError)
  /// Key, the line it stands at, and what it takes.
  case badValue(String, line: Int, takes: String)

  public func explanation(path: String) -> String {
    switch self {
    case .keyValue(let error): error.explanation(path: path)
    case .badValue(let key, let line, let takes): "\(path):\(line): bad \(key): takes \(takes)"
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
  public var requiresSignedReplies = false
  /// Replies' signatures must cover what was asked, too; ``requiresSignedReplies`` is then true as well. A key of its
  /// own: versions that do not know it warn and go on.
  public var requiresSignedTargets = false
  /// Seconds; the service's own default of an hour would end a working day's session.
  public var sessionDuration: Int64 = 12 * 3600
  /// Seconds. Shorter than sshd's LoginGraceTime of 120 s and login's LOGIN_TIMEOUT of 60 s.
  public var approvalTimeout: Int64 = 30
  public var approvals = ApprovalPolicy.service
  public var sendContext = ContextPolicy.auto
  public var sendsCommand = false
  public var longCommand = LongCommandPolicy.show
  public var sharedTokens = SharedTokens.refused
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

  /// Reads the file, which others may read but not write.
  public init(path: String) throws(ConfigurationError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(path: path, privacy: .readableByAll) } catch { throw .keyValue(error) }
    try self.init(file)
  }

  /// Reads a file's text.
  public init(parsing text: [UInt8]) throws(ConfigurationError) {
    let file: KeyValueFile
    do { file = try KeyValueFile(parsing: text) } catch { throw .keyValue(error) }
    try self.init(file)
  }

  private init(_ file: KeyValueFile) throws(ConfigurationError) {
    for entry in file.entries {
      guard let reader = Self.readers[entry.key] else {
        unknownKeys.append(entry.key)
        continue
      }
      guard reader.read(entry.value, &self) else {
        throw .badValue(entry.key, line: entry.line, takes: reader.takes)
      }
    }
    if requiresSignedTargets { requiresSignedReplies = true }
  }
}

extension Configuration {
  /// Reads one key's value; false if it is bad.
  private struct Reader: Sendable {
    let takes: String
    let read: @Sendable (String, inout Configuration) -> Bool
  }

  private static func reader<Value>(
    _ field: WritableKeyPath<Configuration, Value> & Sendable, _ takes: String,
    _ convert: @escaping @Sendable (String) -> Value?
  ) -> Reader {
    Reader(takes: takes) { text, configuration in
      guard let value = convert(text) else { return false }
      configuration[keyPath: field] = value
      return true
    }
  }

  /// For a key without a default: a bad value must not count as an unset key.
  private static func optional<Value>(
    _ field: WritableKeyPath<Configuration, Value?> & Sendable, _ takes: String,
    _ convert: @escaping @Sendable (String) -> Value?
  ) -> Reader {
    reader(field, takes) { convert($0).map(Optional.some) }
  }

  private static func choice<Value: RawRepresentable & CaseIterable & Sendable>(
    _ field: WritableKeyPath<Configuration, Value> & Sendable
  ) -> Reader where Value.RawValue == String {
    reader(field, Value.allCases.map(\.rawValue).joined(separator: ", ")) { Value(rawValue: $0) }
  }

  private static func seconds(
    _ field: WritableKeyPath<Configuration, Int64> & Sendable, _ bounds: ClosedRange<Int64>, _ takes: String
  ) -> Reader {
    reader(field, takes) { TimeSpan.seconds($0).flatMap { bounds.contains($0) ? $0 : nil } }
  }

  private static func absolutePath(_ text: String) -> String? {
    text.hasPrefix("/") && text.utf8.count < 1024 && !text.utf8.contains(0) ? text : nil
  }

  private static let readers: [String: Reader] = [
    "server": optional(\.server, "an https address") { try? ServerURL($0) },
    "signing": choice(\.signing),
    "dialect": choice(\.dialect),
    "ca_file": optional(\.caFile, "an absolute path") { absolutePath($0) },
    "proxy": optional(\.proxy, "an http address") { $0.hasPrefix("http://") ? $0 : nil },
    "services": reader(\.services, "names of PAM services, or @desktop") { ServiceNames.read($0) },
    "signed_replies": reader(\.requiresSignedReplies, "required, off") {
      ["required": true, "off": false][$0]
    },
    "signed_targets": reader(\.requiresSignedTargets, "required, off") {
      ["required": true, "off": false][$0]
    },
    "session_duration": seconds(\.sessionDuration, 60...30 * 86_400, "a duration from 1m to 720h, such as 12h"),
    "approval_timeout": reader(\.approvalTimeout, ApprovalTimeout.takes) { ApprovalTimeout.seconds($0) },
    "approvals": choice(\.approvals),
    "send_context": choice(\.sendContext),
    "send_command": reader(\.sendsCommand, "yes, no") { ["yes": true, "no": false][$0] },
    "long_command": choice(\.longCommand),
    "shared_tokens": choice(\.sharedTokens),
    "on_walkaway": choice(\.onWalkaway),
    "walkaway_grace": seconds(\.walkawayGrace, 0...86_400, "a duration from 0s to 24h"),
    "on_end": choice(\.onEnd),
    "on_expiry": choice(\.onExpiry),
    "on_unreachable": optional(\.onUnreachable, "logout, lock, ignore") { EndAction(rawValue: $0) },
    "unreachable_grace": seconds(\.unreachableGrace, 0...30 * 86_400, "a duration from 0s to 720h"),
    "on_lock_failure": choice(\.onLockFailure),
    "on_linger": choice(\.onLinger),
    "unlock": choice(\.unlock),
    "keyring": choice(\.keyring),
    "presence": choice(\.presence),
    "presence_interval": seconds(\.presenceInterval, 5...120, "a duration from 5s to 2m"),
    "presence_grace": seconds(\.presenceGrace, 0...3_600, "a duration from 0s to 1h"),
    "on_presence_left": choice(\.onPresenceLeft),
    "presence_unknown_grace": seconds(\.presenceUnknownGrace, 10...86_400, "a duration from 10s to 24h"),
    "on_presence_unknown": choice(\.onPresenceUnknown),
    "presence_key": choice(\.presenceKey),
    "max_requests": reader(\.maxRequests, "a number from 1 to 20") {
      Int($0).flatMap { (1...20).contains($0) ? $0 : nil }
    },
    "request_window": seconds(\.requestWindow, 60...86_400, "a duration from 1m to 24h"),
    "run_dir": reader(\.runFolder, "an absolute path") { absolutePath($0) },
    "state_dir": reader(\.stateFolder, "an absolute path") { absolutePath($0) },
    "worker": reader(\.worker, "an absolute path") { absolutePath($0) },
    "worker_user": reader(\.workerUser, "a user's name") { UnixUsername(validating: $0)?.text },
  ]
}
