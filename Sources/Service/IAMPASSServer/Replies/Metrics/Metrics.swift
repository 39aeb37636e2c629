import Glibc
import Synchronization

/// The service's counters since its start. Labels never have names, ids or addresses.
final class Metrics: Sendable {
  private struct Counts {
    var replies: [Int: Int64] = [:]
    var refusals: [Reason: Int64] = [:]
    var events: [String: Int64] = [:]
    var storageFailures: Int64 = 0
    var housekeepingDoneAt: ContinuousClock.Instant?
  }

  let startedAt = UnixTime.now()
  let requestTimes = RequestTimes()
  let pushes = PushCounts()
  private let counts = Mutex(Counts())

  func count(_ reply: ServiceReply) {
    counts.withLock { counts in
      counts.replies[reply.status, default: 0] += 1
      if let reason = reply.reason { counts.refusals[reason, default: 0] += 1 }
    }
  }

  func countStorageFailure() { counts.withLock { $0.storageFailures += 1 } }

  /// Notes that a round of housekeeping has succeeded.
  func housekeepingDone() { counts.withLock { $0.housekeepingDoneAt = .now } }

  func count(_ event: SessionEvent) { counts.withLock { $0.events[event.word, default: 0] += 1 } }

  /// Events of sessions.
  enum SessionEvent {
    case started
    case approved
    case ended(SessionLifecycle.Ending)
    case walkedAway
    case back

    fileprivate var word: String {
      switch self {
      case .started: "started"
      case .approved: "approved"
      case .ended(let ending): ending.rawValue.lowercased()
      case .walkedAway: "walkaway"
      case .back: "back"
      }
    }
  }

  /// The text of OpenMetrics 1.0.
  ///
  /// - Parameters:
  ///   - stock: the stored amounts; nil if they could not be read and are left out.
  ///   - signing: the state of signing; nil as for `stock`.
  ///   - unsignedSince: the first unsigned change, in Unix time.
  func text(
    _ stock: StorageStock?, signing: SigningState?, unsignedSince: UnixTime?, load: StorageLoad, held: Int,
    holdsHousekeeperLease: Bool, certificateEnd: UnixTime?, file: FileHealth.State
  ) -> String {
    let counts = counts.withLock { $0 }
    var text = OpenMetricsText()
    text.counter("iampass_replies", "Replies sent.", counts.replies.map { ([("status", "\($0.key)")], $0.value) })
    text.counter(
      "iampass_refusals", "Requests refused, by the reason told.",
      counts.refusals.map { ([("reason", $0.key.rawValue)], $0.value) })
    text.counter(
      "iampass_session_events", "What became of sessions.", counts.events.map { ([("event", $0.key)], $0.value) })
    text.histogram(
      "iampass_request_seconds", "Time until a request's reply, or until it is held.",
      requestTimes.noted.map { ([("route", $0.group.rawValue), ("status", $0.outcome.rawValue)], $0.noted) })
    text.counter(
      "iampass_pushes", "Messages that were to ring a phone, by push service and result.",
      pushes.counts.map { ([("service", $0.key.service.rawValue), ("result", $0.key.result.rawValue)], $0.value) })
    text.counter("iampass_storage_failures", "Requests that failed for the storage.", counts.storageFailures)
    text.add(load)
    text.gauge(
      "iampass_stock_readable", "Whether the numbers that the database has could be read: 1 or 0.",
      stock == nil || signing == nil ? 0 : 1)
    if let stock { text.add(stock) }
    if let signing { text.add(signing, unsignedSince: unsignedSince) }
    text.add(file)
    text.gauge("iampass_requests_held", "Requests that are held until something changes.", Int64(held))
    text.gauge(
      "iampass_keeps_house", "Whether this server does the housekeeping: 1 or 0.", holdsHousekeeperLease ? 1 : 0)
    if let end = counts.housekeepingDoneAt {
      text.gauge(
        "iampass_housekeeping_age_seconds", "Seconds since this server's last whole round of housekeeping.",
        (ContinuousClock.now - end).components.seconds)
    }
    if let certificateEnd {
      text.gauge(
        "iampass_certificate_end_timestamp_seconds", "When the certificate ends, in Unix time.",
        certificateEnd.seconds)
    }
    text.gauge("process_start_time_seconds", "When the service started, in Unix time.", startedAt.seconds)
    if let bytes = Self.residentBytes { text.gauge("process_resident_memory_bytes", "Resident memory.", bytes) }
    return text.finished
  }

  /// proc_pid_statm(5): the second number is pages.
  private static var residentBytes: Int64? {
    guard let file = fopen("/proc/self/statm", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
      separator: " ")
    guard words.count > 1, let pages = Int64(words[1]) else { return nil }
    return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
  }
}

extension OpenMetricsText {
  fileprivate mutating func add(_ stock: StorageStock) {
    gauge("iampass_applications", "Applications.", stock.applications)
    gauge("iampass_users", "Users of all applications.", stock.users)
    gauge("iampass_phones", "Registered phones.", stock.phones)
    gauge("iampass_host_credentials", "Host credentials that are not revoked.", stock.hostCredentials)
    gauge("iampass_requests_unanswered", "Requests that wait for their answer.", stock.unanswered)
    gauge("iampass_sessions_live", "Sessions that are approved and have not ended.", stock.live)
    gauge("iampass_database_size_bytes", "Size of the database.", stock.bytes)
  }

  fileprivate mutating func add(_ file: FileHealth.State) {
    let (checked, damaged): (Int64, Int64)
    switch file {
    case .elsewhere: return
    case .unchecked: (checked, damaged) = (0, 0)
    case .sound: (checked, damaged) = (1, 0)
    case .damaged: (checked, damaged) = (1, 1)
    }
    gauge("iampass_database_checked", "Whether the whole file was checked since the start: 1 or 0.", checked)
    gauge("iampass_database_damaged", "Whether that check has found a damage: 1 or 0.", damaged)
  }

  fileprivate mutating func add(_ signing: SigningState, unsignedSince: UnixTime?) {
    guard signing.set != nil else { return }
    gauge(
      "iampass_unsigned_lists", "Lists of users that no administrator has signed as they are.",
      Int64(signing.lists.count { !$0.isSigned }))
    gauge(
      "iampass_unsigned_changes", "Changes of users and administrators that nobody has signed.",
      Int64(signing.setChanges.count + signing.lists.reduce(0) { $0 + $1.changes.count }))
    if let unsignedSince {
      gauge(
        "iampass_unsigned_since_timestamp_seconds",
        "When the first change came that nobody has signed, in Unix time.", unsignedSince.seconds)
    }
  }

  fileprivate mutating func add(_ load: StorageLoad) {
    gauge(
      "iampass_storage_waiting", "What waits for its turn at the database now.",
      load.queues.map { ([("kind", $0.kind.rawValue)], $0.queue.waiting.count) })
    histogram(
      "iampass_storage_wait_seconds", "Waits for a turn at the database.",
      load.queues.map { ([("kind", $0.kind.rawValue)], $0.queue.waits.noted) })
    counter(
      "iampass_storage_shed", "What waited too long for its turn at the database, and was refused.",
      load.queues.map { ([("kind", $0.kind.rawValue)], $0.queue.refused.count) })
    if let lock = load.lock {
      histogram(
        "iampass_storage_lock_seconds", "Waits of transactions that change something for all others, of all servers.",
        [([], lock.noted)])
      counter(
        "iampass_storage_repeats", "Operations that were done again, since another came between or a connection ended.",
        load.repeats.count)
    }
  }
}
