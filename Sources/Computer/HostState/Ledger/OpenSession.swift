import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// A service session that this computer must end after a restart. The records in `/run` are gone then, and the phone
/// would show the session as active until its time is over.
public struct OpenSession: Sendable, Equatable {
  /// Files of another version are ignored.
  private static let version: Int64 = 1
  private static let times: ClosedRange<Int64> = 0...(1 << 50)

  /// The record's id.
  public let id: String
  /// Which start of which computer opened the session. Another computer, which has another `/etc/machine-id`, must not
  /// end it.
  public let origin: Origin
  /// When the service ends the session by itself, in seconds since 1970.
  public let end: Int64
  private let statusURL: String
  private let logoutURL: String
  private let token: Secret
  private let secret: Secret
  private let name: String?
  /// ``SessionRecord/publicName``.
  public let publicName: String

  /// A computer from one start to the next.
  public struct Origin: Sendable, Equatable {
    let machine: String
    let boot: String
    /// When process 1 started, in clock ticks after boot: a container that restarts keeps the kernel's boot id. Nil in
    /// a file of an earlier version.
    let start: UInt64?

    public init(machine: String, boot: String, start: UInt64? = nil) {
      self.machine = machine
      self.boot = boot
      self.start = start
    }

    /// Nil if the boot id or the machine id cannot be read.
    public static func current() -> Origin? {
      guard let boot = BootName.current(),
        let machine = ProcessFile.read("/etc/machine-id", limit: 64)?.filter({ $0 > 0x20 }), machine.count == 32
      else { return nil }
      // Others may read this file, and the id itself must stay confidential (machine-id(5)).
      return Origin(
        machine: Digest.hexadecimal(Digest.sha256(Array("iampass machine ".utf8) + machine)), boot: boot,
        start: ProcessIdentity(pid: 1)?.startTime)
    }

    /// Whether this is the same computer after a restart.
    public func isLater(than other: Origin) -> Bool {
      guard machine == other.machine else { return false }
      if boot != other.boot { return true }
      guard let start, let former = other.start else { return false }
      return start != former
    }
  }

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - uptime: seconds since boot.
  public init(_ record: SessionRecord, origin: Origin, now: Int64, uptime: Int64) {
    id = record.id
    self.origin = origin
    end = now + max(0, record.created + record.duration - uptime)
    statusURL = record.statusURL
    logoutURL = record.logoutURL
    token = record.token
    secret = record.secret
    name = record.sessionName
    publicName = record.publicName
  }

  /// A request to a phone, which has no record.
  ///
  /// - Parameters:
  ///   - id: an id that ``FileID/isValid(_:)`` takes.
  ///   - end: when the service ends it by itself, in seconds since 1970; for ``RequestNotes`` since boot.
  public init(_ remote: RemoteSession, id: String, origin: Origin, end: Int64) {
    self.id = id
    self.origin = origin
    self.end = end
    statusURL = remote.statusURL
    logoutURL = remote.logoutURL
    token = remote.token
    secret = remote.secret
    name = remote.name
    publicName = remote.label ?? id
  }

  /// The service session. Throws if the configuration now names another service.
  public func remoteSession(_ settings: ServiceSettings) throws(ServiceError) -> RemoteSession {
    try RemoteSession(
      statusURL: statusURL, logoutURL: logoutURL, token: token, secret: secret, name: name, settings: settings)
  }

  func encoded() -> [UInt8] { json.encoded() }

  var json: JSON {
    .object([
      "version": .integer(Self.version), "id": .string(id), "machine": .string(origin.machine),
      "boot": .string(origin.boot), "start": origin.start.map { .string(String($0)) }, "end": .integer(end),
      "status_url": .string(statusURL),
      "logout_url": .string(logoutURL), "session_token": .string(token.exposedValue),
      "session_secret": .string(secret.exposedValue), "session_name": name.map { .string($0) },
      "session_label": .string(publicName),
    ])
  }

  /// Nil for bytes that are not an open session of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes) else { return nil }
    self.init(json)
  }

  init?(_ json: JSON) {
    guard json["version"]?.integer == Self.version, let id = json["id"]?.string,
      let machine = json["machine"]?.string, let boot = json["boot"]?.string, let end = json["end"]?.integer,
      Self.times.contains(end), let statusURL = json["status_url"]?.string,
      let logoutURL = json["logout_url"]?.string, let token = json["session_token"]?.string,
      let secret = json["session_secret"]?.string
    else { return nil }
    self.id = id
    origin = Origin(machine: machine, boot: boot, start: json["start"]?.string.flatMap { UInt64($0) })
    self.end = end
    self.statusURL = statusURL
    self.logoutURL = logoutURL
    self.token = Secret(token)
    self.secret = Secret(secret)
    name = json["session_name"]?.string
    publicName = StartedSession.label(json["session_label"]?.string ?? name) ?? id
  }
}

/// One file of mode 0600 for each session, by its id: `/var/lib/iampass/open` is the helper's, `/run/iampass/asked` the
/// broker's.
public struct OpenSessions: Sendable {
  private let files: RecordFiles

  /// - Parameter state: `/var/lib/iampass`.
  public init(state: RunFolder) { files = RecordFiles(run: state, name: "open") }

  /// The broker's requests that phones have not answered yet.
  public static func asked(run: RunFolder) -> OpenSessions { OpenSessions(files: RecordFiles(run: run, name: "asked")) }

  private init(files: RecordFiles) { self.files = files }

  /// Names of all files that may be open sessions, in no order.
  public func ids() throws(LedgerError) -> [String] { try files.ids() }

  /// - Throws: ``LedgerError/notARecord`` for a file that is not an open session of this version.
  public func read(_ id: String) throws(LedgerError) -> OpenSession {
    guard let session = try files.read(id).flatMap(OpenSession.init(parsing:)), session.id == id else {
      throw .notARecord
    }
    return session
  }

  public func write(_ session: OpenSession) throws(LedgerError) {
    try files.write(session.encoded(), for: session.id)
  }

  /// A missing file is not an error.
  public func remove(_ id: String) throws(LedgerError) { try files.remove(id) }
}
