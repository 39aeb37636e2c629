import Glibc
import HostSystem

/// A program whose output is read while it runs, and that may wait for a word. It has the environment of
/// ``Program/run(_:input:variables:seconds:atTerminal:greatestOutput:whileTrue:)``. It is killed if nobody waits for its
/// end.
public final class ProgramStream {
  /// The size of a pipe's buffer (pipe(7)), in bytes.
  private static let portion = 65_536
  /// The longest single wait for output, in milliseconds.
  private static let greatestPoll: Int64 = 60_000

  private let child: pid_t
  private let input: Int32
  private let output: Int32
  private let errors: Int32
  private var isRunning = true

  /// Nil if the program cannot be started.
  public init?(_ words: [String]) {
    var ends: [Int32] = []
    for _ in 0..<3 {
      var pair: [Int32] = [-1, -1]
      guard pipe(&pair) == 0 else { break }
      ends += pair
    }
    guard ends.count == 6, let child = Program.spawn(words, input: ends[0], output: ends[3], error: ends[5]) else {
      for end in ends { close(end) }
      return nil
    }
    for end in [ends[0], ends[3], ends[5]] { close(end) }
    self.child = child
    input = ends[1]
    output = ends[2]
    errors = ends[4]
  }

  deinit {
    for end in [input, output, errors] { close(end) }
    guard isRunning else { return }
    kill(child, SIGKILL)
    _ = Program.wait(for: child, .now())
  }

  /// The next bytes; none at the end of the output; nil if it cannot be read, or if nothing came within `seconds`.
  public func next(within seconds: Int64) -> [UInt8]? {
    let deadline = MonotonicInstant.now().advanced(milliseconds: seconds * 1_000)
    var bytes = [UInt8](repeating: 0, count: Self.portion)
    while true {
      let left = deadline.milliseconds(since: .now())
      guard left > 0 else { return nil }
      var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, Int32(min(left, Self.greatestPoll))) > 0 else { continue }
      let count = read(output, &bytes, Self.portion)
      if count >= 0 { return Array(bytes.prefix(count)) }
      guard errno == EINTR else { return nil }
    }
  }

  /// Tells the program a line. Nothing happens if it has ended, provided that SIGPIPE is ignored.
  public func tell(_ line: String) { _ = WholeText.write(line + "\n", to: input) }

  /// The program's end, with what it wrote to standard error. Nil if it was killed by a signal, or did not end within
  /// `seconds`; it is killed then. Call it once, after all output was read or if the rest is not wanted.
  public func end(within seconds: Int64) -> Program.Result? {
    let deadline = MonotonicInstant.now().advanced(milliseconds: seconds * 1_000)
    let said = Program.readAll(errors, deadline, Self.portion) { true }
    let status = Program.wait(for: child, said == nil ? .now() : deadline)
    isRunning = false
    guard let said, status & 0x7F == 0 else { return nil }
    return Program.Result(status: status >> 8 & 0xFF, output: String(decoding: said, as: UTF8.self))
  }
}
