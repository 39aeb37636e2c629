import CHost
import Glibc
import HostState
import HostSystem
import IAMPASSProtocol
import LoginModule

/// Why the broker does not run.
public enum BrokerFailure: Error, Sendable, Equatable {
  /// Descriptor 3 is not a socket that listens.
  case noSocket
  case system(Int32)

  public var explanation: String {
    switch self {
    case .noSocket: "systemd handed over no socket: start iampass-broker.socket"
    case .system(let number): String(cString: strerror(number))
    }
  }
}

/// Accepts callers, and forks a process for each, so that callers do not wait for each other.
///
/// It ends after ``idleMilliseconds`` without callers. systemd keeps the socket, and starts the broker again for the
/// next caller. After an upgrade that is the new program.
public struct Broker {
  /// The listening socket from systemd (sd_listen_fds(3)).
  private static let socket: Int32 = 3
  private static let idleMilliseconds: Int64 = 30_000
  /// The pause in microseconds after descriptors, processes or memory ran out.
  private static let pause: UInt32 = 50_000
  /// The time to end the requests of an earlier broker, in milliseconds. Callers wait meanwhile.
  private static let endingMilliseconds: Int64 = 2_000
  /// The process that ends them has this much more time to end by itself, in milliseconds.
  private static let endingSlack: Int64 = 500
  /// The most looks for processes of the earlier broker, which end with it.
  private static let mostChecks = 25
  private static let checkPause: UInt32 = 20_000
  /// The time between two looks at that process, in microseconds.
  private static let endingStep: UInt32 = 2_000

  let configurationPath: String
  /// The folder of logind's session files.
  let sessionsFolder: String
  let log: @Sendable (Int32, String) -> Void

  public init(
    configurationPath: String, sessionsFolder: String, log: @escaping @Sendable (Int32, String) -> Void
  ) {
    self.configurationPath = configurationPath
    self.sessionsFolder = sessionsFolder
    self.log = log
  }

  /// Serves callers. Returns after ``idleMilliseconds`` without callers.
  public func serve() throws(BrokerFailure) {
    guard iampass_is_listening(Self.socket) != 0 else { throw .noSocket }
    // The socket must not block: a caller may leave between poll and accept.
    guard iampass_does_not_block(Self.socket) == 0 else { throw .system(errno) }
    var ended = sigset_t()
    sigemptyset(&ended)
    sigaddset(&ended, SIGCHLD)
    guard sigprocmask(SIG_BLOCK, &ended, nil) == 0 else { throw .system(errno) }
    let signals = signalfd(-1, &ended, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    guard signals >= 0 else { throw .system(errno) }
    var callers = Callers()
    var absent = AbsentCallers()
    endLeftOver(closing: signals)
    while true {
      let wait = callers.milliseconds(.now()) ?? Self.idleMilliseconds
      var entries = [Self.socket, signals].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&entries, 2, Int32(clamping: wait))
      if count < 0, errno != EINTR { usleep(Self.pause) }
      reap(&callers, signals)
      if count == 0, callers.count == 0 { return }
      if count > 0, entries[0].revents & Int16(POLLIN) != 0 { accept(&callers, &absent, signals) }
    }
  }

  /// Ends the requests of a killed broker at the service, before callers ask again.
  private func endLeftOver(closing signals: Int32) {
    guard let setup = try? HostSetup(path: configurationPath) else { return }
    let requests = AskedRequests(setup: setup)
    for _ in 0..<Self.mostChecks where requests.isAnyAsked { usleep(Self.checkPause) }
    let ids = requests.leftOver
    guard !ids.isEmpty else { return }
    let process = fork(closing: signals)
    guard process == 0 else {
      guard process > 0 else { return }
      let end = MonotonicInstant.now().advanced(milliseconds: Self.endingMilliseconds + Self.endingSlack)
      while waitpid(process, nil, WNOHANG) == 0 {
        if MonotonicInstant.now() >= end { kill(process, SIGKILL) }
        usleep(Self.endingStep)
      }
      return
    }
    Secret.staysOutOfDumps = true
    let deadline = MonotonicInstant.now().advanced(milliseconds: Self.endingMilliseconds)
    do throws(Misconfiguration) {
      let count = try requests.end(ids, by: deadline)
      log(LOG_NOTICE, "ended \(count) of \(ids.count) requests that a broker before had left open")
    } catch { log(LOG_ERR, "requests that a broker before had left stay open: \(error.explanation)") }
    _exit(EX_OK)
  }

  private func reap(_ callers: inout Callers, _ signals: Int32) {
    var signal = signalfd_siginfo()
    while read(signals, &signal, MemoryLayout<signalfd_siginfo>.size) > 0 {}
    // The process was not waited for yet, so its number is not reused.
    for process in callers.overdue(.now()) { kill(process, SIGKILL) }
    var status: Int32 = 0
    while case let process = waitpid(-1, &status, WNOHANG), process > 0 { callers.remove(process) }
  }

  /// Why this caller gets no process; nil if the caller gets one.
  private func refusal(of uid: UInt32, _ callers: Callers, _ absent: inout AbsentCallers) -> BrokerEnding? {
    guard uid != UInt32.max else { return .aside }
    let now = MonotonicInstant.now()
    if !absent.contains(uid, now: now) {
      guard callers.admits(uid) else { return .busy }
      if uid == 0 || CallerRule(callerUID: uid).isPresent(in: LogindSession.all(in: sessionsFolder)) { return nil }
    }
    if let unlogged = absent.add(uid, now: now) {
      let others = unlogged > 0 ? "; \(unlogged) more were refused since the last such line" : ""
      log(LOG_NOTICE, "refused caller=\(uid) reason=\(CallerRefusal.noActiveSession.explanation)\(others)")
    }
    return .aside
  }

  private func accept(_ callers: inout Callers, _ absent: inout AbsentCallers, _ signals: Int32) {
    let caller = iampass_accept(Self.socket)
    guard caller >= 0 else {
      if errno != EAGAIN, errno != ECONNABORTED, errno != EINTR { usleep(Self.pause) }
      return
    }
    let peer = iampass_peer(caller)
    let uid = peer.uid
    if let refused = refusal(of: uid, callers, &absent) {
      // The buffer of a new socket has room for this.
      try? BrokerChannel(descriptor: caller).send(.ended(refused, ""))
      return
    }
    let process = fork(closing: signals)
    guard process == 0 else {
      close(caller)
      if process > 0 { callers.add(process, uid: uid, now: .now()) } else { usleep(Self.pause) }
      return
    }
    CallerService(
      channel: BrokerChannel(descriptor: caller), callerUID: uid, callerPID: peer.pid,
      configurationPath: configurationPath, sessionsFolder: sessionsFolder, log: log
    ).serve()
    _exit(EX_OK)
  }

  /// Forks a process that ends with the broker. Returns 0 in that process.
  private func fork(closing signals: Int32) -> pid_t {
    let broker = getpid()
    let process = iampass_fork()
    guard process == 0 else { return process }
    close(Self.socket)
    close(signals)
    var ended = sigset_t()
    sigemptyset(&ended)
    sigaddset(&ended, SIGCHLD)
    // This process must end with the broker. If the broker ended before prctl(2), this process already has another
    // parent.
    guard iampass_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)) == 0, getppid() == broker,
      sigprocmask(SIG_UNBLOCK, &ended, nil) == 0
    else { _exit(EX_OSERR) }
    return 0
  }
}
