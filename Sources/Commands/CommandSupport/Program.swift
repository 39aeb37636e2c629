import CHost
import Glibc
import HostSystem

/// Runs another program to its end, or until its time is over. The environment is fixed. Standard output and error are
/// read together, and are bounded.
public enum Program {
  public struct Result {
    public let status: Int32
    public let output: String
  }

  /// The bytes of output that are kept by default. The rest is read and dropped.
  public static let usualOutput = 1024 * 1024
  /// The size of a pipe's buffer (pipe(7)).
  private static let greatestInput = 65_536
  /// Milliseconds between two calls of `goesOn`.
  private static let askedEvery: Int64 = 100
  private static let environment = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
  ]

  /// Nil if the program cannot be started, was killed by a signal, or did not end within `seconds`.
  ///
  /// - Parameters:
  ///   - variables: what the environment has besides, as `NAME=VALUE`.
  ///   - atTerminal: the program has this process's terminal. Its error output goes there, and not into the result.
  ///   - greatestOutput: the bytes that are kept.
  ///   - goesOn: is called several times a second. If it returns false, the program is killed.
  public static func run(
    _ words: [String], input: [UInt8] = [], variables: [String] = [], seconds: Int64 = 10, atTerminal: Bool = false,
    greatestOutput: Int = usualOutput, whileTrue goesOn: () -> Bool = { true }
  ) -> Result? {
    var toChild: [Int32] = [-1, -1]
    var fromChild: [Int32] = [-1, -1]
    guard input.count <= greatestInput, pipe(&toChild) == 0 else { return nil }
    // All input fits into the buffer before it is read, so this does not block, and the reader is still there.
    let isFed = input.isEmpty || write(toChild[1], input, input.count) == input.count
    close(toChild[1])
    defer { close(toChild[0]) }
    guard isFed, pipe(&fromChild) == 0 else { return nil }
    defer { close(fromChild[0]) }
    let child = spawn(
      words, input: atTerminal ? STDIN_FILENO : toChild[0], output: fromChild[1],
      error: atTerminal ? STDERR_FILENO : fromChild[1], variables: variables)
    close(fromChild[1])
    guard let child else { return nil }
    let deadline = MonotonicInstant.now().advanced(milliseconds: seconds * 1_000)
    let output = readAll(fromChild[0], deadline, greatestOutput, goesOn)
    let status = wait(for: child, output == nil ? .now() : deadline)
    guard let output, status & 0x7F == 0 else { return nil }
    return Result(status: status >> 8 & 0xFF, output: String(decoding: output, as: UTF8.self))
  }

  public static func exists(_ path: String) -> Bool { access(path, X_OK) == 0 }

  /// Starts a command of the caller: found in the caller's PATH, with the caller's environment and terminal. Ctrl-C
  /// reaches the command too. Nil if it cannot be started.
  ///
  /// - Parameter output: where its standard output goes.
  public static func startOwn(_ words: [String], output: Int32) -> pid_t? {
    spawn(words, input: STDIN_FILENO, output: output, error: STDERR_FILENO, isOwn: true)
  }

  /// Nil if the program cannot be started.
  static func spawn(
    _ words: [String], input: Int32, output: Int32, error: Int32, variables: [String] = [], isOwn: Bool = false
  ) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO)
    _ = iampass_spawn_closefrom(&actions, 3)
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = (environment + variables).map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Our signals are blocked while we wait for Ctrl-C. The child must not inherit that.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, isOwn ? iampass_spawn_flags_at_terminal() : iampass_spawn_flags())
    var child: pid_t = 0
    let failure =
      isOwn
      ? posix_spawnp(&child, words[0], &actions, &attributes, &arguments, environ)
      : posix_spawn(&child, words[0], &actions, &attributes, &arguments, &variables)
    return failure == 0 ? child : nil
  }

  /// Waits for the program's end. Its output may have ended before. When the time is over, the program is killed.
  ///
  /// - Returns: the status from waitpid(2).
  public static func wait(for child: pid_t, _ deadline: MonotonicInstant) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, WNOHANG) == 0 {
      if MonotonicInstant.now() >= deadline { kill(child, SIGKILL) }
      usleep(1_000)
    }
    return status
  }

  /// Nil if the time is over before the end, or `goesOn` returns false.
  static func readAll(
    _ descriptor: Int32, _ deadline: MonotonicInstant, _ greatestOutput: Int, _ goesOn: () -> Bool
  ) -> [UInt8]? {
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let left = deadline.milliseconds(since: .now())
      guard left > 0, goesOn() else { return nil }
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, Int32(min(left, askedEvery))) > 0 else { continue }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0 {
        guard errno == EINTR else { return nil }
        continue
      }
      if count == 0 { return output }
      if output.count < greatestOutput { output += buffer.prefix(min(count, greatestOutput - output.count)) }
    }
  }
}
