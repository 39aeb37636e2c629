import CommandSupport
import Glibc
import HostSystem

/// Prints new entries of the audit, until the output is closed.
struct AuditTail {
  private static let interval = Duration.seconds(1)
  /// How long the database may fail, in milliseconds. A failover of PostgreSQL takes less.
  private static let patience: Int64 = 60_000

  /// The id of the newest entry that was printed.
  var last: Int64
  /// The history that this id belongs to: see ``OperatorStore/auditHistory()``.
  let history: String

  /// - Parameters:
  ///   - present: gives the history of this moment.
  ///   - print: prints the entries after an id, and moves the id on with each portion that is printed.
  /// - Throws: the errors of both: a ``CommandProblem`` at once, also for another history, and others once they last for a
  ///   minute.
  mutating func follow(
    in present: () async throws -> String, by print: (inout Int64) async throws -> Void
  ) async throws {
    var failingSince: MonotonicInstant?
    while !Self.hasLostReader {
      try await Task.sleep(for: Self.interval)
      do {
        guard try await present() == history else { throw CommandProblem.otherAuditHistory }
        try await print(&last)
        if failingSince != nil { Notice.tell("the database answers again") }
        failingSince = nil
      } catch let problem as CommandProblem {
        throw problem
      } catch {
        let now = MonotonicInstant.now()
        if failingSince == nil { Notice.tell("the database does not answer; asking again for a minute") }
        let begin = failingSince ?? now
        failingSince = begin
        if now.milliseconds(since: begin) > Self.patience { throw error }
      }
    }
  }

  /// Whether the reader of standard output has closed it. Otherwise only the next entry would show it, which may not
  /// come for hours.
  private static var hasLostReader: Bool {
    var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR | POLLHUP) != 0
  }
}
