import CHost
import Glibc
import HostSystem

/// A started worker: its end of the socket, and a descriptor of the process. Unlike a process number, the descriptor
/// never names another process.
final class WorkerProcess: WorkerEnd {
  /// Non-blocking and closed on exec.
  let socket: Int32
  private let process: Int32
  /// Children of the host also clean up PAM's data. They must not end their parent's worker.
  private let owner = getpid()

  /// In ms. A killed worker that waits for a disk cannot end, and its parent does not wait for that. On a busy machine
  /// any worker takes a while. A worker that was not waited for would stay in the host's process table.
  private static let longestFarewell: Int32 = 1_000
  /// Hosts run with 0–2 closed, and open files by number. Descriptors from here on do not collide.
  static let leastDescriptor: Int32 = 10

  /// Starts `path` for `user` (nil: the caller's own).
  convenience init(path: String, user: String?) throws(TransportError) {
    try self.init(try WorkerFile.open(path), path: path, user: user)
  }

  /// - Parameter path: the program's path for messages.
  init(_ program: WorkerFile.Program, path: String, user: String?) throws(TransportError) {
    var ends: [Int32] = [-1, -1]
    guard iampass_socket_pair(&ends) == 0 else { throw .start("socketpair") }
    let lifted = ends.map { iampass_duplicate_above($0, Self.leastDescriptor) }
    for end in ends { close(end) }
    guard !lifted.contains(-1) else {
      let failure = TransportError.start("fcntl")
      for end in lifted where end >= 0 { close(end) }
      throw failure
    }
    defer { close(lifted[1]) }
    do throws(TransportError) {
      process = try Self.start(program, path, user ?? "-", socket: lifted[1])
    } catch {
      close(lifted[0])
      throw error
    }
    socket = lifted[0]
  }

  /// Whether the worker has left, or belongs to the process from which this one was forked.
  var hasLeft: Bool {
    guard owner == getpid() else { return true }
    var entry = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) != 0
  }

  deinit { end() }

  private func end() {
    close(socket)
    defer { close(process) }
    guard owner == getpid() else { return }
    // A host that is no longer root may not send this signal. The closed socket then ends the worker.
    _ = iampass_pidfd_kill(process, SIGKILL)
    awaitEnd(milliseconds: Self.longestFarewell)
    // ECHILD: the host ignores SIGCHLD, and the kernel has reaped the worker.
    _ = iampass_pidfd_wait(process, WEXITED | WNOHANG)
  }

  /// Waits until it has ended. The host's own signals may arrive in the meantime.
  private func awaitEnd(milliseconds: Int32) {
    let end = MonotonicInstant.now().advanced(milliseconds: Int64(milliseconds))
    var entry = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
    while poll(&entry, 1, Int32(clamping: max(0, end.milliseconds(since: .now())))) < 0, errno == EINTR {}
  }

  private static func start(
    _ program: WorkerFile.Program, _ path: String, _ user: String, socket: Int32
  ) throws(TransportError) -> Int32 {
    // Hosts run with 0–2 closed. The child moves its socket and its program to their numbers.
    let lifted = iampass_duplicate_above(program.descriptor.number, leastDescriptor)
    guard lifted >= 0 else { throw .start("fcntl") }
    defer { close(lifted) }
    var child: pid_t = 0
    let failure = spawn(lifted, user, socket, &child)
    guard failure == 0 else { throw .start(path, failure) }
    let made = iampass_pidfd_open(child)
    defer { if made >= 0 { close(made) } }
    let process = made < 0 ? -1 : iampass_duplicate_above(made, leastDescriptor)
    guard process >= 0 else {
      // Without a pidfd (an old sandbox, ENFILE) the number is enough: it stays the child's until it is waited for.
      let failure = TransportError.start("pidfd_open")
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
      throw failure
    }
    // Not our child: the worker died immediately, the kernel reaped it, and another process has the number.
    guard iampass_pidfd_wait(process, WEXITED | WNOHANG | WNOWAIT) == 0 else {
      close(process)
      throw TransportError(.workerFailed, detail: "\(path) left at once")
    }
    return process
  }

  private static func spawn(_ program: Int32, _ user: String, _ socket: Int32, _ child: inout pid_t) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    // A new session: Ctrl-C must not end the worker before it has sent the cancellation.
    posix_spawnattr_setflags(&attributes, iampass_spawn_flags())
    let steps = [
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0),
      posix_spawn_file_actions_adddup2(&actions, 0, 1),
      posix_spawn_file_actions_adddup2(&actions, 0, 2),
      posix_spawn_file_actions_adddup2(&actions, socket, WorkerProcess.workerSocket),
      posix_spawn_file_actions_adddup2(&actions, program, WorkerProcess.workerProgram),
      iampass_spawn_closefrom(&actions, WorkerProcess.workerProgram + 1),
      iampass_spawn_chdir(&actions, "/"),
    ]
    if let failed = steps.first(where: { $0 != 0 }) { return failed }
    return "iampass-https".withCString { name in
      user.withCString { user in
        // SAFETY: posix_spawn reads the strings only during the call, and does not write to them.
        var arguments = [UnsafeMutablePointer(mutating: name), UnsafeMutablePointer(mutating: user), nil]
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        let opened = "/proc/self/fd/\(WorkerProcess.workerProgram)"
        return posix_spawn(&child, opened, &actions, &attributes, &arguments, &environment)
      }
    }
  }

  /// The worker's descriptor for its socket.
  package static let workerSocket: Int32 = 3
  /// The worker's descriptor for its program during the start. The worker closes it first.
  package static let workerProgram: Int32 = 4
}

extension TransportError {
  /// The worker could not be started. `subject` is the failing file or call.
  static func start(_ subject: String, _ code: Int32 = errno) -> TransportError {
    // SAFETY: strerror's text is copied before any other call.
    TransportError(.workerFailed, detail: "\(subject): \(String(cString: strerror(code)))")
  }
}
