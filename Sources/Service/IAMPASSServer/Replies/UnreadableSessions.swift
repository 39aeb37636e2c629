import IAMPASSProtocol
import Logging
import Synchronization

/// Sessions that could not be ended, since their rows cannot be read. Each is told once, by its id.
final class UnreadableSessions: Sendable {
  /// More are counted, and not named.
  static let greatestNamed = 10

  private let told = Mutex<Set<String>>([])

  /// Those that were not among the last ones, in the order of their ids.
  func news(_ found: Set<String>) -> [String] {
    told.withLock { told in
      defer { told = found }
      return found.subtracting(told).sorted()
    }
  }
}

extension ServiceCore {
  /// For the log. Each of these sessions is as it was: its own client is refused, and nobody else notices.
  func tell(unreadable found: Set<String>) {
    let news = unreadable.news(found)
    guard !news.isEmpty else { return }
    let named = news.prefix(UnreadableSessions.greatestNamed).map { DisplayText.sanitized($0) }
    logger.error(
      "sessions cannot be read, and were not ended",
      metadata: [
        "count": "\(news.count)", "sessions": "\(named.joined(separator: " "))",
        "hint": "a newer version of the service may have stored them; otherwise these rows are damaged",
      ])
  }
}
