/// All that the service asks of its storage, in its own words. SQL and libraries for databases stay behind it, in an
/// engine: SQLite's or PostgreSQL's.
///
/// **One step.** Each operation is one atomic step. It happens wholly or not at all, as if no other operation ran
/// meanwhile, in this process or in another on the same database. What it reads, decides and stores belongs to that one
/// step, so that of two requests for one thing there is one winner. A nonce, a link and an answer are such things.
///
/// **Rules.** An engine does not decide on sign-ins. If a step depends on a rule, the caller passes the rule as a closure
/// over values, such as ``StartPolicy`` and ``SignedAnswer``. The engine reads the values, asks the rule in the step
/// itself, and stores what the rule says. A database may have the whole step repeated, and then the rule is asked again:
/// so a rule has no effect of its own. If a rule throws, nothing is stored.
///
/// **Sessions.** Some operations end sessions, as a lost phone does: each says which ones. An engine ends them by
/// ``SessionLifecycle``, like everything else that happens to a session.
///
/// **Nothing that was said is lost.** When an operation returns, what it stored outlives `kill -9` and a power cut. The
/// few operations that say so keep that promise for `kill -9` alone: what they store means nothing without a later
/// change, and that change brings it to the disk with it.
///
/// **Errors.** A refusal is returned; a thrown error is a failure of the storage, except for ``ApplicationRefusal`` and
/// ``HostCredentialRefusal``. After a failure the operation may have happened, as when a connection is lost during its
/// commit. So the caller says neither that it happened nor that it did not: the reply is 503, and the client asks
/// again. ``trouble(behind:)`` says what an operator can do.
///
/// **Time.** The storage says what time it is, by its ``clock``. Each `now` is service time, which only the passing of
/// time moves; a `wall` is the wall clock's. The caller reads the clock once for a step, so that a rule and what is
/// stored agree.
///
/// **Audit.** What an operation does to applications, users, phones, credentials and sessions has its entry in the
/// audit, written in the same step by the engine.
///
/// Opening, migrating, checking, copying and putting back a database are an engine's own, and its commands'.
protocol ServiceStorage: RequestStore, SessionStore, PhoneStore, ManagementStore, ConsoleStore, HousekeepingStore,
  SigningKeyStore, NotificationStore, JoiningStore, UserListPages,
  HostAuditStore, HostMarkStore, HostReportStore, SigningRowsStore
{
  var clock: StorageClock { get }

  /// What is to be told of failures. The engine notes in it each change that is stored.
  var alarm: StorageAlarm { get }

  /// How busy it is. The engine notes it.
  var load: StorageLoad { get }

  /// What other servers on the same database do; nil for a database of one server.
  var others: (any OtherServers)? { get }

  /// What servers on the same database count together; nil for a database of one server.
  var limits: (any SharedLimits)? { get }

  /// What kind of failure an error is that an operation has thrown.
  func trouble(behind error: any Error) -> StorageTrouble
}

extension ServiceStorage {
  var others: (any OtherServers)? { nil }

  /// Service time: see ``StorageClock``.
  func now() -> UnixTime { clock.now() }
}
