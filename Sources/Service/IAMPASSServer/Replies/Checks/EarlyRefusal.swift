extension ServiceCore {
  /// The refusal of a request before the storage is used; nil if the request may go on.
  ///
  /// It is for a sender that failed too often under this id. Valid requests, by what is remembered of the id, are still
  /// accepted. One request a second is checked in any case, because id and secret may be new.
  ///
  /// - Parameter isProven: whether remembered data proves the request. It is called only beyond the limit.
  func earlyRefusal(
    _ kind: FailureLimits.Kind, _ call: Call, unless isProven: @autoclosure () -> Bool
  ) -> ServiceReply? {
    let (source, now) = (call.client.text, clock())
    let exceeded = [failures, unknownIDs].filter { $0.wait(for: kind, from: source, at: now) != nil }
    guard !exceeded.isEmpty, !isProven() else { return nil }
    for limits in exceeded {
      if let wait = limits.waitBeforeWork(for: kind, from: source, at: now) { return .tooManyFailures(wait) }
    }
    return nil
  }
}

extension ServiceCore {
  /// Runs `work` for a client that is not authenticated, in one of the bounded places.
  ///
  /// - Throws: the errors of `work`, or ``TooManyUnauthenticatedRequests`` if it was not run.
  func forUnauthenticated<Value>(_ call: Call, _ work: () async throws -> Value) async throws -> Value {
    let place = try await unauthenticated.enter(from: call.client.text)
    defer { place.leave() }
    return try await work()
  }

  /// The same for a request that remembered data may prove. It then needs no place.
  func unless<Value>(
    _ isProven: Bool, forUnauthenticated call: Call, _ work: () async throws -> Value
  ) async throws -> Value {
    isProven ? try await work() : try await forUnauthenticated(call, work)
  }
}

extension ServiceReply {
  /// - Parameter seconds: seconds until the client may try again.
  static func tooManyFailures(_ seconds: Int64) -> ServiceReply {
    refused(.tooManyFailures).adding("Retry-After", String(seconds))
  }
}
