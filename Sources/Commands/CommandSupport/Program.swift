import CHost
import Glibc
import HostSystem

/// Another program, run to its end or to its time: fixed environment, output of both kinds together and bounded.
public enum Program {
  public struct Result {
    public let status: Int32
    public let output: String
  }

  /// Bytes of output that are kept unless more is asked for; the rest is read and dropped.
  public static let usualOutput = 1024 * 1024
  /// What a pipe takes before anyone reads (pipe(7)).
  private static let greatestInput = 65_536
  /// Milliseconds between two questions whether a program may go on.
  private static let askedEvery: Int64 = 100
  private static let environment = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
  ]

  /// Nil where it cannot be started, was killed by a signal, or did not end within `seconds`.
  ///
  /// - Parameters:
  ///   - atTerminal: it has this process's terminal, and its complaints go there and not into the result.
  ///   - greatestOutput: bytes that are kept.
  ///   - goesOn: asked several times a second; once it says no, the program is killed.
  public static func run(
    _ words: [String], input: [UInt8] = [], seconds: Int64 = 10, atTerminal: Bool = false,
    greatestOutput: Int = usualOutput, whileTrue goesOn: () -> Bool = { true }
  ) -> Result? {
    var toChild: [Int32] = [-1, -1]
    var fromChild: [Int32] = [-1, -1]
    guard input.count <= greatestInput, pipe(&toChild) == 0 else { return nil }
    // All of it before anyone reads: nothing blocks, and no reader can have gone.
    let isFed = input.isEmpty || write(toChild[1], input, input.count) == input.count
    close(toChild[1])
    defer { close(toChild[0]) }
    guard isFed, pipe(&fromChild) == 0 else { return nil }
    defer { close(fromChild[0]) }
    let child = spawn(
      words, input: atTerminal ? STDIN_FILENO : toChild[0], output: fromChild[1],
      error: atTerminal ? STDERR_FILENO : fromChild[1])
    close(fromChild[1])
    guard let child else { return nil }
    let deadline = MonotonicInstant.now().advanced(milliseconds: seconds * 1_000)
    let output = readAll(fromChild[0], deadline, greatestOutput, goesOn)
    let status = wait(for: child, output == nil ? .now() : deadline)
    guard let output, status & 0x7F == 0 else { return nil }
    return Result(status: status >> 8 & 0xFF, output: String(decoding: output, as: UTF8.self))
  }

  public static func exists(_ path: String) -> Bool { access(path, X_OK) == 0 }

  /// Starts a command of the caller's own: found in its PATH, with its environment, and at its terminal, whose Ctrl-C
  /// reaches it too. Nil if it cannot be started.
  ///
  /// - Parameter output: where its standard output goes.
  public static func startOwn(_ words: [String], output: Int32) -> pid_t? {
    spawn(words, input: STDIN_FILENO, output: output, error: STDERR_FILENO, isOwn: true)
  }

  private static func spawn(
    _ words: [String], input: Int32, output: Int32, error: Int32, isOwn: Bool = false
  ) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO)
    _ = iampass_spawn_closefrom(&actions, 3)
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Ours are blocked while Ctrl-C is waited for; a child goes by none of that.
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

  /// The output may end before the program does, or the program be killed for its time.
  ///
  /// - Returns: as waitpid(2) tells it.
  public static func wait(for child: pid_t, _ deadline: MonotonicInstant) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, WNOHANG) == 0 {
      if MonotonicInstant.now() >= deadline { kill(child, SIGKILL) }
      usleep(1_000)
    }
    return status
  }

  private static func readAll(
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
