import Synchronization

/// A reply that waits for news. Waiting uses little memory: each look at the storage runs in its own task, which ends
/// before the wait begins.
struct HeldReply: Sendable {
  /// How long a reply is held at most, in seconds: shorter than the time after which middleboxes drop an idle
  /// connection.
  static let usualWait: Int64 = 60

  enum PollResult: Sendable {
    case reply(ServiceReply)
    /// There is no reply yet. Look again at the next change, and after these milliseconds at the latest.
    case nothingYet(milliseconds: Int64)
  }

  /// - Parameter isLast: there is no more waiting, and this look must reply. The client has gone, and must not count as
  ///   informed; or the service stops.
  typealias Poll = @Sendable (_ isLast: Bool) async throws -> PollResult

  private let watch: ChangeBoard.Watch
  /// The longest time until the next look, in milliseconds.
  private let patience: Int64
  private let poll: Poll

  /// - Parameter patience: the milliseconds from the first look, which found no reply.
  init(_ watch: ChangeBoard.Watch, patience: Int64, poll: @escaping Poll) {
    self.watch = watch
    self.patience = patience
    // Looks run after the request's own task has ended. The client is still the actor of their changes.
    guard let actor = AuditActor.current else {
      self.poll = poll
      return
    }
    self.poll = { isLast in try await AuditActor.$current.withValue(actor) { try await poll(isLast) } }
  }

  /// The same held reply, with `change` applied to the final reply.
  func finished(_ change: @escaping @Sendable (ServiceReply) async throws -> ServiceReply) -> HeldReply {
    HeldReply(watch, patience: patience) { [poll] isLast in
      switch try await poll(isLast) {
      case .reply(let reply): .reply(try await change(reply))
      case .nothingYet(let milliseconds): .nothingYet(milliseconds: milliseconds)
      }
    }
  }

  /// The same held reply, in which an error becomes a reply.
  func replying(toFailure reply: @escaping @Sendable (any Error) -> ServiceReply) -> HeldReply {
    HeldReply(watch, patience: patience) { [poll] isLast in
      do { return try await poll(isLast) } catch { return .reply(reply(error)) }
    }
  }

  /// Waits until there is a reply.
  func reply() async -> ServiceReply {
    var patience = patience
    while true {
      let isLast = !(await watch.wait(milliseconds: patience))
      switch await look(isLast) {
      case .reply(let reply)?: return reply
      case .nothingYet(let milliseconds)? where !isLast: patience = milliseconds
      case .nothingYet?, nil: return .refused(.stopping)
      }
    }
  }
}

extension HeldReply {
  /// A look in its own task, which frees its memory at its end. A task keeps the memory of its deepest call until it ends,
  /// which is long for a task that waits.
  ///
  /// - Returns: nil if it was given up: a service that stops does not wait for a storage that hangs.
  private func look(_ isLast: Bool) async -> PollResult? {
    await withCheckedContinuation { continuation in
      let first = FirstResult(continuation)
      watch.onGivingUp { first.give(nil) }
      Task { [poll] in first.give(try? await poll(isLast)) }
    }
  }

  /// Takes one result, and ignores the other.
  private final class FirstResult: Sendable {
    private let waiter: Mutex<CheckedContinuation<PollResult?, Never>?>

    init(_ waiter: CheckedContinuation<PollResult?, Never>) { self.waiter = Mutex(waiter) }

    func give(_ result: PollResult?) {
      let waiter = waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }
      waiter?.resume(returning: result)
    }
  }
}

/// Runs `work` in its own task, which frees its memory at its end. A task keeps the memory of its deepest call until it
/// ends, which is long for a task that waits.
func apart<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
  await withTaskGroup(of: Value.self) { group in
    group.addTask { await work() }
    // A group with one task has a result.
    return await group.next()!
  }
}
