import CommandSupport
import Glibc
import HostSystem

/// The command that makes other computers create codes. It runs at this terminal, and its standard output is read here.
struct CodeCarrier {
  enum End: Equatable {
    case exited(Int32)
    case killed
    case interrupted
    case tooLate
  }

  /// The longest time in milliseconds. The command may ask many computers one after the other.
  private static let patience: Int64 = 3_600_000
  /// The time that the command has to end after Ctrl-C, and after the end of its output, in milliseconds.
  private static let grace: Int64 = 10_000
  /// The greatest length of a line in bytes.
  private static let greatestLine = 1_048_576

  let words: [String]

  /// - Parameter take: gets each line of the output.
  func run(_ interrupt: Interrupt, take: (String) -> Void) throws(CommandProblem) -> End {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .collect(.cannotStart(words[0])) }
    defer { close(ends[0]) }
    let started = Program.startOwn(words, output: ends[1])
    close(ends[1])
    guard let child = started else { throw .collect(.cannotStart(words[0])) }
    var deadline = MonotonicInstant.now().advanced(milliseconds: Self.patience)
    var isInterrupted = false
    var lines = Lines()
    reading: while true {
      let left = deadline.milliseconds(since: .now())
      guard left > 0 else { break }
      // A signal that has come stays pending.
      switch isInterrupted ? Self.wait(left, ends[0]) : interrupt.wait(milliseconds: left, input: ends[0]) {
      case .timeOver: break reading
      case .interrupted:
        isInterrupted = true
        kill(child, SIGTERM)
        deadline = MonotonicInstant.now().advanced(milliseconds: Self.grace)
      case .input: if !lines.read(ends[0], take) { break reading }
      }
    }
    lines.end(take)
    let isLate = deadline <= .now()
    let status = Program.wait(for: child, min(deadline, .now().advanced(milliseconds: Self.grace)))
    if isInterrupted { return .interrupted }
    if isLate { return .tooLate }
    return status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed
  }

  private static func wait(_ milliseconds: Int64, _ descriptor: Int32) -> Interrupt.Event {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, Int32(milliseconds)) > 0 ? .input : .timeOver
  }

  /// Splits the input into lines.
  private struct Lines {
    private var rest: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// Reads and passes on complete lines; false at the end.
    mutating func read(_ descriptor: Int32, _ take: (String) -> Void) -> Bool {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0 { return errno == EINTR }
      guard count > 0 else { return false }
      for byte in buffer.prefix(count) {
        if byte == UInt8(ascii: "\n") || rest.count >= greatestLine { end(take) }
        if byte != UInt8(ascii: "\n") { rest.append(byte) }
      }
      return true
    }

    mutating func end(_ take: (String) -> Void) {
      if !rest.isEmpty { take(String(decoding: rest, as: UTF8.self)) }
      rest = []
    }
  }
}
