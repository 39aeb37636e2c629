import IAMPASSProtocol
import Logging
import Synchronization

/// Sessions that could not be ended because their rows cannot be read, or such orders of signatures. Each is logged once, by
/// its id.
final class UnreadableSessions: Sendable {
  /// The most sessions that are named. More are only counted.
  static let greatestNamed = 10

  /// The most sessions that are remembered as left out. Beyond that, some are logged again.
  static let greatestLeftOut = 1_000

  private let logged = Mutex<Set<String>>([])
  private let leftOut = Mutex<Set<String>>([])

  /// The sessions that were not in the last set, sorted by id.
  func news(_ found: Set<String>) -> [String] {
    logged.withLock { logged in
      defer { logged = found }
      return found.subtracting(logged).sorted()
    }
  }

  /// Those that were not left out of a list before.
  func newlyLeftOut(_ found: [String]) -> [String] {
    guard !found.isEmpty else { return [] }
    return leftOut.withLock { leftOut in
      if leftOut.count >= Self.greatestLeftOut { leftOut = [] }
      return found.filter { leftOut.insert($0).inserted }
    }
  }
}

extension ServiceCore {
  /// Logs sessions that a phone's list leaves out, each once.
  func tell(leftOut found: [String]) {
    let news = unreadable.newlyLeftOut(found)
    guard !news.isEmpty else { return }
    let named = news.prefix(UnreadableSessions.greatestNamed).map { DisplayText.sanitized($0) }
    logger.error(
      "sessions cannot be read, and are left out of their user's phones' lists",
      metadata: [
        "count": "\(news.count)", "sessions": "\(named.joined(separator: " "))",
        "hint": "a newer version of the service may have stored them; otherwise these rows are damaged",
      ])
  }

  /// Logs unreadable sessions. They do not change: only their own clients are refused.
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

  /// Logs orders of signatures that cannot be read. They do not change: whoever ordered them orders them again.
  func tell(unreadableOrders found: Set<String>) {
    let news = unreadableOrders.news(found)
    guard !news.isEmpty else { return }
    let named = news.prefix(UnreadableSessions.greatestNamed).map { DisplayText.sanitized($0) }
    logger.error(
      "orders of signatures cannot be read, and were set aside",
      metadata: [
        "count": "\(news.count)", "orders": "\(named.joined(separator: " "))",
        "hint": "a newer version of the service goes on with its own; otherwise have it signed again",
      ])
  }
}
