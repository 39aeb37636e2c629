import Glibc

/// Questions at the terminal, with a bound of time.
final class Questions {
  enum Reply {
    case line(String)
    case timeOver
    /// Standard input has ended.
    case nobody
    case interrupted
  }

  /// Read from standard input, and not yet asked for: a pipe may bring several lines at once.
  private var unread: [UInt8] = []

  /// What was typed on the terminal before a question is no answer to it. A pipe's lines were written for questions to
  /// come.
  func forgetWhatWasTyped() {
    guard isatty(STDIN_FILENO) == 1 else { return }
    tcflush(STDIN_FILENO, TCIFLUSH)
    unread = []
  }

  /// - Parameter wait: until standard input has something, or the time is over.
  func ask(_ question: String, wait: () throws -> Interrupt.Event) rethrows -> Reply {
    Terminal.ask(question)
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

/// The two digits that a terminal shows.
struct MatchCode: Equatable {
  let digits: String

  /// Nil where the text is anything else. A slip of the finger is no wrong entry, which would deny.
  init?(_ text: String) {
    let trimmed = text.filter { $0 != " " && $0 != "\r" }
    guard trimmed.utf8.count == 2, trimmed.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    digits = trimmed
  }
}
