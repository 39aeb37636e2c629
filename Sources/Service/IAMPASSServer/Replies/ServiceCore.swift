import DeviceProtocol
import IAMPASSProtocol
import Logging

/// What all routes share: the storage, the requests that wait for changes, and the log.
struct ServiceCore: Sendable {
  let storage: any ServiceStorage
  let board = ChangeBoard()
  let reports = HostReports()
  let repeatedStarts = RepeatedStarts()
  let signing = SigningMemory()
  let pushKey = KnownPushKey()
  let failures = FailureLimits()
  /// Requests under ids that are not known.
  let unknownIDs = FailureLimits()
  let unproven = UnprovenRequests()
  /// Applications and host credentials as they were read last. They decide nothing but what is worth the work.
  let starters = Remembered<Starter>()
  /// Phones' keys, in the same way.
  let phoneKeys = Remembered<DevicePublicKey>()
  let unreadable = UnreadableSessions()
  let file = FileHealth()
  let metrics: Metrics
  let stockLooks = StockLooks()
  let audit: Audit
  let logger: Logger

  init(storage: any ServiceStorage, logger: Logger) {
    self.storage = storage
    self.logger = logger
    metrics = Metrics()
    audit = Audit(logger: logger, metrics: metrics)
  }

  /// Service time, which the storage keeps.
  func clock() -> UnixTime { storage.now() }

  /// Wakes everyone who waits for this session: its client, its user's phones, and a locum's.
  func announceChange(of session: Session) {
    board.changed(.session(session.id))
    if let user = session.user { board.changed(.user(user)) }
    if let locum = session.locum { board.changed(.user(locum.user)) }
  }

  /// These have just ended.
  func announceEnd(of sessions: [Session]) {
    for session in sessions {
      audit.closed(session)
      announceChange(of: session)
    }
  }

  /// These have just walked away with their phone, or come back with it.
  func announceMoves(of sessions: [Session]) {
    for session in sessions {
      audit.moved(session)
      announceChange(of: session)
    }
  }
}
