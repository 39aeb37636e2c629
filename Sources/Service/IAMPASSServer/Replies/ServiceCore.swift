import DeviceProtocol
import IAMPASSProtocol
import Logging

/// The parts that all routes share: the storage, the requests that wait for changes, and the log.
final class ServiceCore: Sendable {
  let storage: any ServiceStorage
  let board = ChangeBoard()
  let reports = HostReports()
  let marks: MarkRenewals
  let repeatedStarts = RepeatedStarts()
  let signing = SigningMemory()
  let orderFailures = OrderFailures()
  let pushKey = KnownPushKey()
  let failures = FailureLimits()
  /// Counts requests with unknown ids.
  let unknownIDs = FailureLimits()
  let unauthenticated: UnauthenticatedRequestLimit
  let signInClients: KnownSignInClients
  let signingKeys: KnownSigningKeys
  let userLists: SharedUserLists
  let sessionViews: SharedSessionViews
  /// Phones' keys as they were read last. They decide nothing but what is worth the work.
  let phoneKeys = Remembered<DevicePublicKey>()
  let unreadable = UnreadableSessions()
  let unreadableOrders = UnreadableSessions()
  let file = FileHealth()
  let metrics: Metrics
  let stockQuery = StockQuery()
  let audit: Audit
  let logger: Logger

  init(storage: any ServiceStorage, unauthenticated: UnauthenticatedRequestLimit, logger: Logger) {
    self.storage = storage
    self.unauthenticated = unauthenticated
    self.logger = logger
    marks = MarkRenewals(storage)
    signInClients = KnownSignInClients(storage)
    signingKeys = KnownSigningKeys(storage)
    userLists = SharedUserLists(storage)
    sessionViews = SharedSessionViews(storage)
    metrics = Metrics()
    audit = Audit(logger: logger, metrics: metrics)
  }

  /// Service time, which the storage keeps.
  func clock() -> UnixTime { storage.now() }

  /// Wakes all requests that wait for this session: of its client, its user's phones, and a locum's phone.
  func announceChange(of session: Session) {
    board.changed(.session(session.id))
    if let user = session.user { board.changed(.user(user)) }
    if let locum = session.locum { board.changed(.user(locum.user)) }
  }

  /// Announces sessions that have just ended.
  func announceEnd(of sessions: [Session]) {
    for session in sessions {
      audit.closed(session)
      announceChange(of: session)
    }
  }

  /// Announces sessions that have just left or come back with their phone.
  func announceMoves(of sessions: [Session]) {
    for session in sessions {
      audit.moved(session)
      announceChange(of: session)
    }
  }

  /// Whether the storage answers.
  func health() async throws -> ServiceReply {
    try await storage.answer()
    return .done
  }
}
