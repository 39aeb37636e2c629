/// All operations of the service on its storage. SQL and database libraries are behind it, in an engine: SQLite's or
/// PostgreSQL's.
///
/// **One step.** Each operation is one atomic step. It happens completely or not at all, as if no other operation ran
/// meanwhile, in this process or in another on the same database. Reading, deciding and storing are in that one step.
/// So if two requests use the same nonce or link, or answer the same request, one of them wins.
///
/// **Rules.** An engine does not decide on sign-ins. If a step depends on a rule, the caller passes the rule as a
/// closure over values, such as ``StartPolicy`` and ``SignedAnswer``. The engine reads the values, calls the rule
/// within the step, and stores its result. A database may require the whole step to be repeated, and the rule is then
/// called again. So a rule must not have other effects. If a rule throws, nothing is stored.
///
/// **Sessions.** Some operations end sessions, such as the report of a lost phone. Each returns the ended ones. An
/// engine changes sessions only by ``SessionLifecycle``.
///
/// **Nothing that was confirmed is lost.** When an operation returns, its changes outlive `kill -9` and a power cut. A
/// few operations keep that promise only for `kill -9`, and their comments say so. Their changes matter only together
/// with a later change, which brings them to the disk.
///
/// **Errors.** A refusal is returned; a thrown error is a failure of the storage, except for ``ApplicationRefusal`` and
/// ``HostCredentialRefusal``. After a failure the operation may have happened, as when a connection is lost during its
/// commit. So the caller must claim neither: the reply is 503, and the client asks again. ``trouble(behind:)`` tells
/// operators what to do.
///
/// **Time.** The storage's ``clock`` gives the time. Each `now` is service time, which cannot be set; a `wall` is the
/// wall clock's time. The caller reads the clock once for a step, so that the rule and the stored data agree.
///
/// **Audit.** Each change of applications, users, phones, credentials and sessions has an entry in the audit, which the
/// engine writes in the same step.
///
/// Opening, migrating, checking, copying and restoring a database are operations of each engine and its commands.
protocol ServiceStorage: RequestStore, SessionStore, PhoneStore, ManagementStore, ConsoleStore, HousekeepingStore,
  SigningKeyStore, NotificationStore, JoiningStore, UserListPages,
  HostAuditStore, CloneDetectorStore, HostReportStore, SigningRowsStore
{
  var clock: StorageClock { get }

  /// Decides which failures are logged. The engine notes each stored change in it.
  var alarm: StorageAlarm { get }

  /// The storage's load. The engine notes it.
  var load: StorageLoad { get }

  /// News of other servers on the same database; nil for a database of one server.
  var changeListener: (any ChangeListener)? { get }

  /// The counters that servers on the same database share; nil for a database of one server.
  var limits: (any SharedLimits)? { get }

  /// The kind of failure behind an operation's error.
  func trouble(behind error: any Error) -> StorageTrouble
}

extension ServiceStorage {
  var changeListener: (any ChangeListener)? { nil }

  /// Service time: see ``StorageClock``.
  func now() -> UnixTime { clock.now() }
}
