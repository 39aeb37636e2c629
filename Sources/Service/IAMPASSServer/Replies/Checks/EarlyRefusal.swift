extension ServiceCore {
  /// The refusal of a request before the storage is asked for it; nil: go on.
  ///
  /// That is for a sender that failed too often under this id. What is remembered of the id tells the right requests, which
  /// are taken all the same; one a second is taken in any case, since an id may be new, and a secret too.
  ///
  /// - Parameter isProven: whether what is remembered proves the request. Asked only beyond the limit.
  func earlyRefusal(
    _ kind: FailureLimits.Kind, _ call: Call, unless isProven: () -> Bool
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

extension ServiceReply {
  /// - Parameter seconds: until the next request is worth while.
  static func tooManyFailures(_ seconds: Int64) -> ServiceReply {
    refused(.tooManyFailures).adding("Retry-After", String(seconds))
  }
}
