extension ServiceCore {
  /// The refusal of a request before the storage is asked for it; nil: go on.
  ///
  /// That is for a sender that failed too often under this id. What is remembered of the id tells the right requests, which
  /// are taken all the same; one a second is taken in any case, since an id may be new, and a secret too.
  ///
  /// - Parameter isProven: whether what is remembered proves the request. Asked only beyond the limit.
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
  /// Does what anybody may ask for, in a place among strangers.
  ///
  /// - Throws: what `work` throws; without doing it, ``TooManyStrangers``.
  func forStranger<Value>(_ call: Call, _ work: () async throws -> Value) async throws -> Value {
    let place = try unproven.enter(from: call.client.text)
    defer { place.leave() }
    return try await work()
  }

  /// The same for a request that may be proven by what is remembered: then it needs no place.
  func unless<Value>(
    _ isProven: Bool, forStranger call: Call, _ work: () async throws -> Value
  ) async throws -> Value {
    isProven ? try await work() : try await forStranger(call, work)
  }
}

extension ServiceReply {
  /// - Parameter seconds: until the next request is worth while.
  static func tooManyFailures(_ seconds: Int64) -> ServiceReply {
    refused(.tooManyFailures).adding("Retry-After", String(seconds))
  }
}
