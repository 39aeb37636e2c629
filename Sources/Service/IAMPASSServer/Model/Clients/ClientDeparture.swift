/// Whether anybody still waits for what the current task reads.
///
/// Only requests that change nothing set it. A change is made also for a client that has gone: it was asked for, and a
/// phone that goes away has still denied a request.
///
/// It is a class, and not the function itself: Swift 6.3 makes wrong code for a task's value that is an optional
/// function. The optimized program ended with SIGSEGV at each request, and no test of a debug build showed it.
final class ClientDeparture: Sendable {
  /// Nil: the task goes on in any case.
  @TaskLocal static var current: ClientDeparture?

  private let question: @Sendable () -> Bool

  /// - Parameter hasLeft: whether the client has gone by now. It is asked at any time, in any thread.
  init(_ hasLeft: @escaping @Sendable () -> Bool) { question = hasLeft }

  /// Whether the client has gone by now.
  var hasLeft: Bool { question() }

  /// - Throws: `CancellationError` if nobody waits any more for what the current task reads.
  static func check() throws { if current?.hasLeft ?? false { throw CancellationError() } }
}
