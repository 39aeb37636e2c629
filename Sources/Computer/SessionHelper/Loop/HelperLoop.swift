import CHost
import CSystemd
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol
import WorkerLink

/// Waits for news of records, logind, processes and the service, in one thread, and calls the ``Supervisor``.
public final class HelperLoop {
  /// The time between two looks at the configuration, in ms.
  private static let checkInterval: Int64 = 30_000
  /// The time between two looks at all records, in ms, because some changes bring no events. It grows with each record.
  /// The ``Supervisor`` looks at undecided records more often.
  private static let rescanTime: ClosedRange<Int64> = 30_000...300_000
  private static let rescanShare: Int64 = 200
  /// Due times within this span, in ms, share one wake-up.
  private static let slot: Int64 = 20
  /// The least time between two reads of replies, in ms. Replies that arrive between them are read together.
  private static let readTime: Int64 = 25
  /// The time between two signs of life for systemd, in ms: less than half of the unit's WatchdogSec.
  private static let aliveTime: Int64 = 10_000
  /// After a sleep of at least this time the service is asked about every session again; in ms.
  private static let leastSleep: Int64 = 1_000

  private let path: String
  private let log: any HelperLog
  private let logind = SystemBusLogind()
  private let seat = SystemSeat()
  private let lookups = ForkedLookups()
  private let folderWatch = RecordFolderWatch()
  private let processWatch = ProcessWatch()
  private let run: RunFolder
  private let presence: HelperPresence
  private let phones: BluetoothSupervisor
  private let stacks: StackGuard
  private var files: ConfigurationFiles
  private var pipeline: WorkerPipeline?
  private var supervisor: Supervisor?
  private var complaint = ""
  private var busComplained: Int64?
  private var nextCheck: Int64 = 0
  private var nextRescan: Int64 = 0
  private var nextAlive: Int64 = 0
  private var nextTurn: Int64?
  /// When replies of the worker are read again.
  private var nextRead: Int64 = 0
  private var mustStop = false
  private var sleptBefore: Int64?

  /// - Parameter path: the configuration file's path.
  public init(path: String, log: any HelperLog) {
    stacks = StackGuard(folder: "/etc/pam.d", log: log)
    self.path = path
    self.log = log
    files = ConfigurationFiles(path: path)
    run = RunFolder(path: (try? Configuration(path: path))?.runFolder ?? Configuration().runFolder)
    presence = HelperPresence(run: run)
    phones = BluetoothSupervisor(configuration: path, run: run, logind: logind, seat: seat, log: log)
  }

  /// Runs until SIGTERM or SIGINT.
  public func serve() throws(HelperError) {
    do {
      guard try presence.claim() else { throw HelperError.alreadyRunning(folder: run.path) }
    } catch let error as FileError { throw .file(error) } catch let error as HelperError { throw error } catch {
      throw .system(errno)
    }
    if ProcessIdentity(pid: 1) == nil {
      log.write(LOG_ERR, "/proc shows no other processes (hidepid?): nobody can be logged out")
    }
    let signals = try HelperSignals()
    defer { signals.close() }
    // The end of a worker is seen at its socket.
    signal(SIGPIPE, SIG_IGN)
    while !mustStop {
      turn(BootTime.milliseconds())
      wait(signals)
    }
    sd_notify(0, "STOPPING=1")
    pipeline?.stop()
  }

  // MARK: One round

  private func turn(_ now: Int64) {
    if hasSlept(now) {
      supervisor?.wokeUp(now)
      phones.wokeUp(now)
    }
    if now >= nextCheck { checkEverything(now) }
    takeEvents(now)
    nextTurn = phones.turn(at: now)
    if let supervisor {
      nextTurn = [nextTurn, supervisor.turn(at: now)].compactMap { $0 }.min()
      pipeline?.flush()
      if let processes = supervisor.changedProcesses() {
        for process in processWatch.watch(processes) {
          supervisor.processEnded(process, at: now)
          nextTurn = now
        }
      }
    }
    if now >= nextAlive {
      nextAlive = now + Self.aliveTime
      sd_notify(0, "READY=1\nWATCHDOG=1\nSTATUS=\(statusLine(now))")
    }
  }

  /// The status line for `systemctl status` and `iampassctl check`.
  private func statusLine(_ now: Int64) -> String {
    HelperStatus.line(
      watching: supervisor?.watchedCount, lastAnswer: supervisor?.lastAnswer.map { (now - $0) / 1_000 },
      complaint: complaint)
  }

  /// The boot clock goes on while the computer sleeps; the monotonic clock does not. logind's signal may come after the
  /// first wake-up, or be missed.
  private func hasSlept(_ now: Int64) -> Bool {
    let asleep = now - MonotonicInstant.now().nanoseconds / 1_000_000
    defer { sleptBefore = asleep }
    return sleptBefore.map { asleep - $0 > Self.leastSleep } ?? false
  }

  private func takeEvents(_ now: Int64) {
    let events = logind.events()
    complainOfBus(now)
    supervisor?.logindTold(events, at: now)
    phones.logindTold(events, at: now)
    switch folderWatch.news() {
    case .all:
      nextCheck = now
      nextRescan = now
    case .records(let ids):
      if supervisor == nil, !ids.isEmpty { configure(now) }
      for id in ids { supervisor?.recordChanged(id, at: now) }
    }
    for process in processWatch.ended() { supervisor?.processEnded(process, at: now) }
  }

  private func checkEverything(_ now: Int64) {
    nextCheck = now + Self.checkInterval
    configure(now)
    stacks.turn(at: now)
    let hasNews = (try? SessionLedger(run: run).folder()).map { folderWatch.begin($0) } ?? true
    guard let supervisor else { return }
    supervisor.checkUses(at: now)
    guard hasNews || now >= nextRescan else { return supervisor.checkLeftOut(at: now) }
    let time = Int64(supervisor.recordCount) * Self.rescanShare
    nextRescan = now + min(max(time, Self.rescanTime.lowerBound), Self.rescanTime.upperBound)
    supervisor.rescan(at: now)
  }

  // MARK: The configuration

  /// Reads the configuration if it has changed. The former one stays in force while the new one is not valid.
  private func configure(_ now: Int64) {
    // A complaint that stands is looked at again: a folder that was moved away and back changes no file.
    guard files.haveChanged() || supervisor == nil || !complaint.isEmpty else { return }
    do throws(Misconfiguration) {
      let setup = try HostSetup(path: path)
      files.note(authorities: setup.configuration.caFile)
      let pipeline = WorkerPipeline(settings: try setup.workerSettings(lifetime: 0))
      let seal = RequestSeal(
        settings: try setup.serviceSettings(), credential: try setup.credential(), unixTime: { Int64(time(nil)) })
      stacks.adopt(setup)
      adopt(try SupervisorSetup(setup), state: setup.state, pipeline, SessionInquiry(seal: seal), now)
      files.wereUsed()
      if setup.run.path != run.path {
        // This also happens if the file could not be read at the start: the helper would watch a folder that stays
        // empty.
        log.write(
          LOG_NOTICE, "run_dir is \(setup.run.path) now: ends, so that systemd starts it again with the new folder")
        mustStop = true
      }
      complaint = ""
    } catch {
      guard complaint != error.explanation else { return }
      complaint = error.explanation
      log.write(error == .noServer ? LOG_INFO : LOG_ERR, "not usable: \(error.explanation)")
    }
  }

  private func adopt(
    _ setup: SupervisorSetup, state: RunFolder, _ pipeline: WorkerPipeline, _ inquiry: SessionInquiry, _ now: Int64
  ) {
    self.pipeline?.stop()
    self.pipeline = pipeline
    phones.adopt(setup, at: now)
    let service = PipelinedService(pipeline: pipeline, inquiry: inquiry)
    if let supervisor { return supervisor.adopt(setup, service, at: now) }
    let supervisor = Supervisor(
      setup: setup, ledger: SessionLedger(run: run), notes: WatchNotes(run: run), leaving: LeavingSessions(run: run),
      earlier: EarlierSessions(OpenSessions(state: state), origin: .current(), unixTime: { Int64(time(nil)) }),
      away: AwayLocks(run: run), logind: logind, seat: seat, service: service, lookups: lookups, log: log,
      reports: CodeReports(
        RecoveryCodes(state: state), PhoneUses(state: state), hostName: hostName, token: token))
    self.supervisor = supervisor
    // From now on the module leaves it to this helper to tell the service of ends.
    do {
      if try !presence.announce() { log.write(LOG_ERR, "another process says that it watches the records") }
    } catch { log.write(LOG_ERR, error.explanation) }
    supervisor.begin(keepingUsersAt: setup.userList, at: now)
  }

  /// The computer's name at the service, or its own host name.
  private func hostName() -> String? {
    if let host = (try? HostSetup(path: path).credential())?.host { return host }
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Nil only if it is certain that the user has none.
  private func token(of user: UnixUsername) throws -> Secret? {
    // A directory of users may be slow, or never answer. Users who share a token of the file are looked up, too.
    try TokenReply.token(lookups.answer { tell in tell(TokenReply.told { try findToken(of: user) }) })
  }

  private func findToken(of user: UnixUsername) throws -> Secret? {
    let setup = try HostSetup(path: path)
    // The file needs no entry of a directory of users.
    let known = setup.configuration.users == .service ? try SystemUser.find(named: user) : nil
    let token = try setup.token(of: user, known: known)
    // A user directory may be out of reach: a missing token is then not the final answer.
    guard try token != nil || known != nil || !setup.isListed(user) else { throw UserLookupError.listedAndUnknown }
    return token
  }

  private func complainOfBus(_ now: Int64) {
    guard let failure = logind.failure else { return }
    if let busComplained, now - busComplained < 60_000 { return }
    busComplained = now
    log.write(LOG_ERR, "no logind, so nobody can be logged out: \(failure.explanation)")
  }

  // MARK: Waiting

  private func wait(_ signals: HelperSignals) {
    var sources = EventSources()
    sources.listen(to: .signals, by: signals.descriptor)
    sources.listen(to: .recordFolder, by: folderWatch.descriptor)
    sources.listen(to: .processes, by: processWatch.descriptor)
    sources.listen(to: .bus, by: logind.descriptor, for: Int16(truncatingIfNeeded: logind.interest))
    sources.listen(
      to: .worker, by: pipeline?.descriptor ?? -1,
      for: Int16(POLLIN | (pipeline?.wantsToSend == true ? POLLOUT : 0)))
    sources.listen(to: .probe, by: phones.descriptor)
    guard sources.wait(milliseconds: timeToWait(BootTime.milliseconds())) else { return }
    if supervisor?.asksManyAtOnce == true, sources.news(of: .worker) == Int16(POLLIN) {
      let pause = min(nextRead - BootTime.milliseconds(), Self.readTime)
      if pause > 0 {
        // Any other event ends the pause.
        sources.ignore(.worker)
        _ = sources.wait(milliseconds: pause)
      }
      nextRead = BootTime.milliseconds() + Self.readTime
    }
    if sources.news(of: .signals) != 0 { take(signals.orders()) }
  }

  private func timeToWait(_ now: Int64) -> Int64 {
    if pipeline?.hasOutcomes == true { return 0 }
    let bus = logind.deadline.map { now + max(0, $0.milliseconds(since: .now())) }
    // The time is rounded up to a slot, so that a thousand spread questions do not cause a thousand wake-ups.
    let turn = nextTurn.map { $0 <= now ? now : ($0 / Self.slot + 1) * Self.slot }
    let next = [nextCheck, nextAlive, bus ?? .max, turn ?? .max].min() ?? now
    return max(0, next - now)
  }

  private func take(_ orders: [HelperSignals.Order]) {
    for order in orders {
      switch order {
      case .reload:
        files.forget()
        nextCheck = 0
        nextRescan = 0
        stacks.checkSoon()
        // After SIGHUP an administrator reads the status next.
        nextAlive = 0
      case .stop: mustStop = true
      }
    }
  }
}
