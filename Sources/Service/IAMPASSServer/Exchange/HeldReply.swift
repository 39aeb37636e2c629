/// A reply that waits for news. Whoever waits keeps little: each look at the storage runs in a task that is gone before the
/// wait begins, and its memory with it.
struct HeldReply: Sendable {
  /// How long a reply is held at most, in seconds: shorter than the time after which middle boxes forget an idle
  /// connection.
  static let usualWait: Int64 = 60

  enum Look: Sendable {
    case reply(ServiceReply)
    /// Nothing to tell yet: look again at the next change, and after these milliseconds at the latest.
    case nothingYet(milliseconds: Int64)
  }

  /// - Parameter isLast: there is no waiting any more: the client has gone, and must not count as one that was told; or
  ///   the service stops. This look replies.
  typealias Looking = @Sendable (_ isLast: Bool) async throws -> Look

  private let watch: ChangeBoard.Watch
  /// Milliseconds until the next look at the latest.
  private let patience: Int64
  private let look: Looking

  /// - Parameter patience: what the first look said, which found nothing to tell. Milliseconds.
  init(_ watch: ChangeBoard.Watch, patience: Int64, look: @escaping Looking) {
    self.watch = watch
    self.patience = patience
    // Looks go on after the request's own task: what they change is the client's all the same.
    guard let actor = AuditActor.current else {
      self.look = look
      return
    }
    self.look = { isLast in try await AuditActor.$current.withValue(actor) { try await look(isLast) } }
  }

  /// The same, whose reply goes through `change` in the end.
  func finished(_ change: @escaping @Sendable (ServiceReply) async throws -> ServiceReply) -> HeldReply {
    HeldReply(watch, patience: patience) { [look] isLast in
      switch try await look(isLast) {
      case .reply(let reply): .reply(try await change(reply))
      case .nothingYet(let milliseconds): .nothingYet(milliseconds: milliseconds)
      }
    }
  }

  /// The same, whose failure is a reply.
  func replying(toFailure reply: @escaping @Sendable (any Error) -> ServiceReply) -> HeldReply {
    HeldReply(watch, patience: patience) { [look] isLast in
      do { return try await look(isLast) } catch { return .reply(reply(error)) }
    }
  }

  /// Waits until there is something to tell.
  func reply() async -> ServiceReply {
    var patience = patience
    while true {
      let isLast = !(await watch.wait(milliseconds: patience))
      switch await apart({ [look] in try? await look(isLast) }) {
      case .reply(let reply)?: return reply
      case .nothingYet(let milliseconds)? where !isLast: patience = milliseconds
      case .nothingYet?, nil: return .refused(.stopping)
      }
    }
  }
}

/// Does `work` in a task of its own, whose memory is given back at its end. A task keeps what its deepest call needed until
/// the task ends, which is long if it goes on to wait.
func apart<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
  await withTaskGroup(of: Value.self) { group in
    group.addTask(operation: work)
    // A group with a task has a result.
    return await group.next()!
  }
}
