import CPostgreSQL
import Glibc

// The connection's socket, and notifications.
extension PostgreSQLConnection {
  /// Begins to connect, without a wait.
  static func start(_ parameters: [String: String]) -> OpaquePointer? {
    let names = parameters.keys.map { strdup($0) }
    let values = parameters.keys.map { strdup(parameters[$0] ?? "") }
    defer { for text in names + values { free(text) } }
    // SAFETY: both lists end by nil, and libpq copies what it keeps.
    let connection = PQconnectStartParams(
      names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
    // Otherwise libpq prints the server's notices.
    _ = PQsetNoticeReceiver(connection, { _, _ in }, nil)
    return connection
  }

  /// Whether the socket has one of the events before `end`.
  func wait(for events: Int16, until end: ContinuousClock.Instant) -> Bool {
    while PQsocket(connection) >= 0 {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return false }
      var socket = pollfd(fd: PQsocket(connection), events: events, revents: 0)
      let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
      let ready = poll(&socket, 1, Int32(clamping: milliseconds))
      if ready > 0 { return true }
      guard ready == 0 || errno == EINTR else { return false }
    }
    return false
  }

  /// Waits for a notification on a channel that a call of `LISTEN` has named.
  ///
  /// - Returns: the channel and its payload; nil if nothing came within `limit`.
  public func notification(within limit: Duration) throws(PostgreSQLError) -> PostgreSQLNotification? {
    let end = ContinuousClock.now + limit
    while true {
      guard connection != nil, PQconsumeInput(connection) == 1 else { throw lost(.connectionLost) }
      if let notify = PQnotifies(connection) {
        defer { PQfreemem(notify) }
        return PostgreSQLNotification(
          channel: String(cString: notify.pointee.relname), payload: String(cString: notify.pointee.extra))
      }
      guard wait(for: Int16(POLLIN), until: end) else { return nil }
    }
  }
}

/// A notification that another connection sent by `NOTIFY`.
public struct PostgreSQLNotification: Equatable, Sendable {
  /// The channel's name in `LISTEN`.
  public let channel: String
  /// The payload; empty if there is none.
  public let payload: String
}
