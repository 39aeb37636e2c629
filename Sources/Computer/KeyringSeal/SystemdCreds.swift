import CHost
import Glibc
import HostState
import HostSystem

/// Seals and opens with systemd-creds(1), which has its own file format.
public struct SystemdCreds: Sendable {
  public static let path = "/usr/bin/systemd-creds"
  /// The longest wait in milliseconds. A TPM takes about a second.
  private static let patience: Int64 = 7_000
  private static let greatestOutput = 16_384
  /// The TPM's register with the state of Secure Boot (systemd-creds(1)), so that another system on this computer
  /// cannot open it.
  private static let registers = "7"

  let program: String

  public init(program: String = SystemdCreds.path) { self.program = program }

  /// The best key of this computer. `has-tpm2` exits with 0 if firmware, driver and program all support TPM 2.
  public var bestKey: SealedPasswords.Key { run(["has-tpm2", "--quiet"], input: []) == nil ? .host : .tpm2 }

  /// The sealed bytes; nil if that failed. The reason is in the journal.
  func seal(_ bytes: [UInt8], as name: String, by key: SealedPasswords.Key) -> [UInt8]? {
    let registers = key == .tpm2 ? ["--tpm2-pcrs=\(Self.registers)"] : []
    return run(["encrypt", "--with-key=\(key.rawValue)", "--name=\(name)"] + registers + ["-", "-"], input: bytes)
  }

  /// The opened bytes; nil if that failed, as it does for another name or on another computer.
  func open(_ bytes: [UInt8], as name: String) -> [UInt8]? {
    run(["decrypt", "--name=\(name)", "-", "-"], input: bytes)
  }

  /// The output of the program; nil if it did not exit with 0.
  private func run(_ words: [String], input: [UInt8]) -> [UInt8]? {
    var toChild: [Int32] = [-1, -1]
    var fromChild: [Int32] = [-1, -1]
    guard pipe(&toChild) == 0 else { return nil }
    // A pipe's buffer is larger than a request (pipe(7)), so this does not wait for a reader.
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

  /// Reads to the end; nil if there is too much, or if it takes too long.
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

  /// Whether the program exited with 0 in time.
  private func ended(_ child: pid_t, by end: MonotonicInstant) -> Bool {
    var status: Int32 = 0
    while waitpid(child, &status, WNOHANG) == 0 {
      if MonotonicInstant.now() >= end { kill(child, SIGKILL) }
      usleep(1_000)
    }
    return status == 0
  }
}
