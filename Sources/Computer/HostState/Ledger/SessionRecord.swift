import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// One approved sign-in: its user, the processes that may claim it, and its service session. A sign-in by a recovery
/// code has no service session.
public struct SessionRecord: Sendable, Equatable {
  /// Records of another version are ignored.
  static let version: Int64 = 1
  /// The longest duration in seconds. Configurations cannot ask for more.
  private static let greatestDuration: Int64 = 366 * 86_400

  /// What a claimed record is bound to.
  public struct Binding: Sendable, Equatable {
    /// logind's session id.
    public let logindSession: String
    public let leader: ProcessIdentity

    public init(logindSession: String, leader: ProcessIdentity) {
      self.logindSession = logindSession
      self.leader = leader
    }
  }

  /// The code or phone of a sign-in without the service.
  public struct OfflineUse: Sendable, Equatable {
    /// The id under which the use is reported to the service.
    public let id: String
    public let way: OfflineMethod
    /// When it was used, in seconds since 1970.
    public let time: Int64

    public init(id: String, way: OfflineMethod, time: Int64) {
      self.id = id
      self.way = way
      self.time = time
    }
  }

  /// 128 random bits in hexadecimal; the file's name.
  public let id: String
  public let user: UnixUsername
  public let uid: UInt32
  public let service: String
  /// Whether the service opens a session that the helper watches, as the sign-in's configuration said.
  public let opensSession: Bool
  public let remoteHost: String?
  public let tty: String?
  public let statusURL: String
  public let logoutURL: String
  public let token: Secret
  public let secret: Secret
  /// See ``RemoteSession/name``.
  public let sessionName: String?
  /// See ``RemoteSession/label``.
  private let label: String?
  /// The service's position in its history when it reported the approval; nil if it does not give one.
  public let mark: ServiceMark?
  /// The sign-in was without the service. The service does not know the session, and only its time ends it.
  public let isOffline: Bool
  /// Nil for a service session, and in an offline record of an older version.
  public let offlineUse: OfflineUse?
  /// The phone that approved; nil if this computer did not verify it, or if it was an administrator's.
  public let phone: ApprovingPhone?
  /// The process that authenticated, and its parent: one of them may claim the record.
  public let process: ProcessIdentity
  public let parent: ProcessIdentity
  /// When the record was made, in seconds after boot.
  public let created: Int64
  /// The longest time of the session that was requested, in seconds.
  public let duration: Int64
  /// Whether a session that cannot lock is logged out when ``duration`` is over. False for records of an earlier
  /// version, which told users that the session stays.
  public let endsAtExpiry: Bool
  /// The login session; nil until one was opened.
  public var binding: Binding?
  /// `open_session` has claimed the record. It cannot be claimed again.
  public var isClaimed = false
  /// The host has closed its session.
  public var isReleased = false
  /// An administrator wants the session ended.
  public var isLogoutRequested = false

  /// - Parameters:
  ///   - session: nil for a sign-in without the service.
  ///   - opensSession: whether the service opens a session that the helper watches.
  public init(
    id: String, user: UnixUsername, uid: UInt32, service: String, remoteHost: String?, tty: String?,
    session: RemoteSession?, mark: ServiceMark? = nil, process: ProcessIdentity, parent: ProcessIdentity,
    created: Int64, duration: Int64, offlineUse: OfflineUse? = nil, phone: ApprovingPhone? = nil,
    opensSession: Bool
  ) {
    self.opensSession = opensSession
    self.offlineUse = offlineUse
    self.phone = phone
    self.id = id
    self.user = user
    self.uid = uid
    self.service = service
    self.remoteHost = remoteHost
    self.tty = tty
    statusURL = session?.statusURL ?? ""
    logoutURL = session?.logoutURL ?? ""
    token = session?.token ?? Secret("")
    secret = session?.secret ?? Secret("")
    sessionName = session?.name
    label = session?.label
    isOffline = session == nil
    self.mark = mark
    self.process = process
    self.parent = parent
    self.created = created
    self.duration = duration
    endsAtExpiry = true
  }

  /// The session's name in log lines, commands and at the service: the service's name, or the record's own id if it
  /// gave none.
  public var publicName: String { label ?? id }

  /// The service session. Its addresses are checked again, because the configuration may have changed.
  public func remoteSession(_ settings: ServiceSettings) throws(ServiceError) -> RemoteSession {
    try RemoteSession(
      statusURL: statusURL, logoutURL: logoutURL, token: token, secret: secret, name: sessionName,
      settings: settings)
  }
}

extension SessionRecord {
  func encoded() -> [UInt8] {
    JSON.object([
      "version": .integer(Self.version), "id": .string(id), "user": .string(user.text), "uid": .integer(Int64(uid)),
      "service": .string(service), "opens_session": .bool(opensSession),
      "remote_host": remoteHost.map { .string($0) }, "tty": tty.map { .string($0) },
      "status_url": .string(statusURL), "logout_url": .string(logoutURL),
      "session_token": .string(token.exposedValue), "session_secret": .string(secret.exposedValue),
      "session_name": sessionName.map { .string($0) }, "session_label": label.map { .string($0) },
      "service_mark": mark.map(\.json),
      "offline": isOffline ? .bool(true) : nil, "offline_use": offlineUse?.json, "phone": phone?.json,
      "process": Self.json(process), "parent": Self.json(parent), "created": .integer(created),
      "duration": .integer(duration), "ends_at_expiry": .bool(endsAtExpiry), "claimed": .bool(isClaimed),
      "released": .bool(isReleased), "condemned": .bool(isLogoutRequested),
      "logind_session": binding.map { .string($0.logindSession) }, "leader": binding.map { Self.json($0.leader) },
    ]).encoded()
  }

  /// Nil for bytes that are not a record of this version.
  init?(parsing bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), json["version"]?.integer == Self.version,
      let id = json["id"]?.string, let user = json["user"]?.string.flatMap({ UnixUsername(validating: $0) }),
      let uid = json["uid"]?.integer.flatMap({ UInt32(exactly: $0) }), let service = json["service"]?.string,
      let statusURL = json["status_url"]?.string, let logoutURL = json["logout_url"]?.string,
      let token = json["session_token"]?.string, let secret = json["session_secret"]?.string,
      let process = json["process"].flatMap(Self.identity), let parent = json["parent"].flatMap(Self.identity),
      let created = json["created"]?.integer, (0...(1 << 40)).contains(created),
      let duration = json["duration"]?.integer, (0...Self.greatestDuration).contains(duration),
      let isClaimed = json["claimed"]?.bool, let isReleased = json["released"]?.bool,
      let isLogoutRequested = json["condemned"]?.bool
    else { return nil }
    self.id = id
    self.user = user
    self.uid = uid
    self.service = service
    // An earlier version knew only the services of the table.
    opensSession = json["opens_session"]?.bool ?? ServiceTable.opensSession(service)
    remoteHost = json["remote_host"]?.string
    tty = json["tty"]?.string
    self.statusURL = statusURL
    self.logoutURL = logoutURL
    self.token = Secret(token)
    self.secret = Secret(secret)
    sessionName = json["session_name"]?.string
    // An earlier version kept only the signed name.
    label = StartedSession.label(json["session_label"]?.string ?? sessionName)
    mark = json["service_mark"].flatMap(ServiceMark.init(json:))
    isOffline = json["offline"]?.bool ?? false
    offlineUse = json["offline_use"].flatMap(OfflineUse.init(json:))
    phone = json["phone"].flatMap(ApprovingPhone.init(json:))
    self.process = process
    self.parent = parent
    self.created = created
    self.duration = duration
    endsAtExpiry = json["ends_at_expiry"]?.bool ?? false
    self.isClaimed = isClaimed
    self.isReleased = isReleased
    self.isLogoutRequested = isLogoutRequested
    switch (json["logind_session"]?.string, json["leader"].flatMap(Self.identity)) {
    case (let session?, let leader?): binding = Binding(logindSession: session, leader: leader)
    case (nil, nil): binding = nil
    case (_?, nil), (nil, _?): return nil
    }
  }

  static func json(_ identity: ProcessIdentity) -> JSON {
    .object(["pid": .integer(Int64(identity.pid)), "start": .string(String(identity.startTime))])
  }

  static func identity(_ json: JSON) -> ProcessIdentity? {
    guard let pid = json["pid"]?.integer.flatMap({ Int32(exactly: $0) }), pid > 0,
      let start = json["start"]?.string.flatMap({ UInt64($0) })
    else { return nil }
    return ProcessIdentity(pid: pid, startTime: start)
  }
}

extension SessionRecord.OfflineUse {
  fileprivate var json: JSON {
    .object(["id": .string(id), "way": .string(way.rawValue), "time": .integer(time)])
  }

  fileprivate init?(json: JSON) {
    guard let id = json["id"]?.string, let way = json["way"]?.string.flatMap({ OfflineMethod(rawValue: $0) }),
      let time = json["time"]?.integer
    else { return nil }
    self.init(id: id, way: way, time: time)
  }
}
