/// Whether anybody still waits for what the current task reads.
///
/// Only requests that change nothing set it. A change is made also for a client that has gone: it was asked for, and a
/// phone that goes away has still denied a request.
enum ClientDeparture {
  /// Whether the client has gone; nil: the task goes on in any case.
  @TaskLocal static var hasLeft: (@Sendable () -> Bool)?

  /// - Throws: `CancellationError` if nobody waits any more.
  static func check() throws { if hasLeft?() ?? false { throw CancellationError() } }
}
