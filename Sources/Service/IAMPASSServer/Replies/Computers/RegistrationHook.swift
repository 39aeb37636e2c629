import CHost
import Glibc
import IAMPASSProtocol
import Synchronization

/// The administrator's own program that sends registration links, by SMS or in another way.
///
/// It is started without a shell and without arguments. Its standard input has the number in the first line, then the
/// message. Exit code 0 means that it was sent.
enum RegistrationHook {
  /// The program's longest time in seconds. Then it is killed.
  static let patience: Int32 = 20
  /// The greatest size of the message in bytes.
  static let greatestMessage = 2_000

  /// Why this cannot be the program; nil if it can, or if no program is wanted.
  ///
  /// Only root decides what the service may run. Otherwise a user of the console could name a shell.
  static func problem(with path: String, in folder: String) -> String? {
    if path.isEmpty { return nil }
    let name = path.dropFirst(folder.count + 1)
    guard path.hasPrefix(folder + "/"), !name.isEmpty, !name.contains("/"), !name.hasPrefix("."),
      path.utf8.count <= ApplicationSettings.greatestHookLength,
      DisplayText.sanitized(path, limit: path.count) == path
    else { return "The program is given by its path, and is in \(folder)." }
    guard isRootsAlone(folder, S_IFDIR) else { return "\(folder) is not a folder that only root can write." }
    guard isRootsAlone(path, S_IFREG), access(path, X_OK) == 0 else {
      return "The service finds no program at that path that it may run and only root can write."
    }
    return nil
  }

  private static func isRootsAlone(_ path: String, _ kind: mode_t) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == kind && status.st_uid == 0
      && status.st_mode & 0o022 == 0
  }

  /// Whether this is a number to dial, with country code. It has only digits, so it cannot be an option of a program.
  static func isNumber(_ text: String) -> Bool {
    text.hasPrefix("+") && (7...15).contains(text.utf8.count - 1)
      && text.utf8.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// Runs the program.
  ///
  /// - Returns: whether it exited with 0.
  static func run(_ path: String, number: String, message: String, patience: Int32 = patience) async -> Bool {
    let input = Array((number + "\n" + message + "\n").utf8)
    return await withCheckedContinuation { continuation in
      // Waiting for a process blocks a thread, and those of tasks are few.
      let job = Job(path: path, input: input, patience: patience) { continuation.resume(returning: $0) }
      job.start()
    }
  }

  /// One run, on its own thread.
  private final class Job: Sendable {
    let path: String
    let input: [UInt8]
    let patience: Int32
    let done: @Sendable (Bool) -> Void

    init(path: String, input: [UInt8], patience: Int32, done: @escaping @Sendable (Bool) -> Void) {
      self.path = path
      self.input = input
      self.patience = patience
      self.done = done
    }

    func start() {
      var thread = pthread_t()
      let box = Unmanaged.passRetained(self)
      let code = pthread_create(
        &thread, nil,
        { argument in
          // SAFETY: retained for this thread alone.
          let job = Unmanaged<Job>.fromOpaque(argument!).takeRetainedValue()
          job.done(job.isSent())
          return nil
        }, box.toOpaque())
      guard code == 0 else {
        box.release()
        done(false)
        return
      }
      pthread_detach(thread)
    }

    private func isSent() -> Bool {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { return false }
      let child = spawn(input: ends[0])
      close(ends[0])
      defer { close(ends[1]) }
      guard let child else { return false }
      // A program that does not read must not end the service by SIGPIPE. Only this thread blocks the signal.
      var broken = sigset_t()
      sigemptyset(&broken)
      sigaddset(&broken, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &broken, nil)
      // This is less than a pipe's buffer, so it does not wait for the program.
      _ = input.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
      close(ends[1])
      ends[1] = -1
      return wait(for: child)
    }

    private func spawn(input: Int32) -> pid_t? {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
      // The program must not get the service's descriptors.
      iampass_spawn_closefrom(&actions, 3)
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      var all = sigset_t()
      sigfillset(&all)
      var none = sigset_t()
      sigemptyset(&none)
      posix_spawnattr_setsigdefault(&attributes, &all)
      posix_spawnattr_setsigmask(&attributes, &none)
      // The program gets its own session, so that its children are killed with it.
      posix_spawnattr_setflags(&attributes, iampass_spawn_flags())
      var child: pid_t = 0
      let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
      let environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/local/bin:/usr/bin:/bin"), nil]
      defer { for text in arguments + environment { free(text) } }
      return posix_spawn(&child, path, &actions, &attributes, arguments, environment) == 0 ? child : nil
    }

    private func wait(for child: pid_t) -> Bool {
      var status: Int32 = 0
      let step: UInt32 = 20_000
      for _ in 0..<(UInt32(patience) * 1_000_000 / step) {
        let found = waitpid(child, &status, WNOHANG)
        // The program exited by itself.
        if found == child { return status == 0 }
        if found < 0, errno != EINTR { return false }
        usleep(step)
      }
      kill(-child, SIGKILL)
      while waitpid(child, &status, 0) < 0, errno == EINTR {}
      return false
    }
  }
}
