import CommandSupport
import Glibc

/// Asks at the terminal, for a limited time.
final class Questions {
  enum Reply {
    case line(String)
    case timeOver
    /// There is no answer, because standard input has ended.
    case nobody
    case interrupted
  }

  /// Lines that were read and not yet used: a pipe may bring several at once.
  private var unread: [UInt8] = []

  /// Text typed on the terminal before a question does not answer that question. Lines from a pipe do: they were
  /// written for later questions.
  func forgetWhatWasTyped() {
    guard isatty(STDIN_FILENO) == 1 else { return }
    tcflush(STDIN_FILENO, TCIFLUSH)
    unread = []
  }

  /// - Parameter wait: waits until standard input has data, or the time is over.
  func ask(_ question: String, wait: () throws -> Interrupt.Event) rethrows -> Reply {
    PhoneTerminal.ask(question)
    while true {
      if let line = nextLine() { return .line(line) }
      switch try wait() {
      case .interrupted: return .interrupted
      case .timeOver: return .timeOver
      case .input:
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return .nobody }
        unread += buffer.prefix(count)
      }
    }
  }

  private func nextLine() -> String? {
    guard let end = unread.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { unread.removeFirst(end + 1) }
    return String(decoding: unread[..<end], as: UTF8.self)
  }
}
