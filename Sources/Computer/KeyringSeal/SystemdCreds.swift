import CHost
import Glibc
import HostState
import HostSystem

/// systemd-creds(1), which seals and opens: its file format is its own.
public struct SystemdCreds: Sendable {
  public static let path = "/usr/bin/systemd-creds"
  /// A TPM takes about a second. Milliseconds.
  private static let patience: Int64 = 7_000
  private static let greatestOutput = 16_384
  /// The state of Secure Boot (systemd-creds(1)): another system on this computer does not get it.
  private static let registers = "7"

  let program: String

  public init(program: String = SystemdCreds.path) { self.program = program }

  /// What this computer can seal by: `has-tpm2` exits with 0 if firmware, driver and program all have TPM 2.
  public var bestKey: SealedPasswords.Key { run(["has-tpm2", "--quiet"], input: []) == nil ? .host : .tpm2 }

  /// Nil if that failed; the reason stands in the journal.
  func seal(_ bytes: [UInt8], as name: String, by key: SealedPasswords.Key) -> [UInt8]? {
    let registers = key == .tpm2 ? ["--tpm2-pcrs=\(Self.registers)"] : []
    return run(["encrypt", "--with-key=\(key.rawValue)", "--name=\(name)"] + registers + ["-", "-"], input: bytes)
  }

  /// Nil if that failed: for another name, and on another computer.
  func open(_ bytes: [UInt8], as name: String) -> [UInt8]? {
    run(["decrypt", "--name=\(name)", "-", "-"], input: bytes)
  }

  /// The output of a run that ended with 0.
  private func run(_ words: [String], input: [UInt8]) -> [UInt8]? {
    var toChild: [Int32] = [-1, -1]
    var fromChild: [Int32] = [-1, -1]
    guard pipe(&toChild) == 0 else { return nil }
    // A pipe takes more than a request has before anyone reads (pipe(7)).
    let isFed = input.isEmpty || write(toChild[1], input, input.count) == input.count
    close(toChild[1])
    defer { close(toChild[0]) }
    guard isFed, pipe(&fromChild) == 0 else { return nil }
    let child = spawn(words, input: toChild[0], output: fromChild[1])
    close(fromChild[1])
    defer { close(fromChild[0]) }
    guard let child else { return nil }
    let end = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    let output = read(fromChild[0], until: end)
    if output == nil { kill(child, SIGKILL) }
    return ended(child, by: end) ? output : nil
  }

  private func spawn(_ words: [String], input: Int32, output: Int32) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    _ = iampass_spawn_closefrom(&actions, 3)
    var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = [strdup("LC_ALL=C"), nil]
    defer { for text in arguments + variables { free(text) } }
    var child: pid_t = 0
    return posix_spawn(&child, program, &actions, nil, &arguments, &variables) == 0 ? child : nil
  }

  /// Nil if there is too much, or if it takes too long.
  private func read(_ descriptor: Int32, until end: MonotonicInstant) -> [UInt8]? {
    var output: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while output.count <= Self.greatestOutput {
      let left = end.milliseconds(since: .now())
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&entry, 1, Int32(clamping: left)) > 0 else { return nil }
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { return nil }
      if count == 0 { return output }
      output += chunk[..<count]
    }
    return nil
  }

  /// Whether the program ended with 0 in time.
  private func ended(_ child: pid_t, by end: MonotonicInstant) -> Bool {
    var status: Int32 = 0
    while waitpid(child, &status, WNOHANG) == 0 {
      if MonotonicInstant.now() >= end { kill(child, SIGKILL) }
      usleep(1_000)
    }
    return status == 0
  }
}
