import IAMPASSProtocol

/// Counters that hold over all servers of one database. They may be forgotten when the database ends.
protocol SharedLimits: Sendable {
  /// Counts a failure under this key.
  ///
  /// - Parameter window: seconds from the first failure until all are forgotten.
  /// - Returns: how many there were, this one included, and when they are forgotten.
  func count(_ key: String, within window: Int64, at now: UnixTime) async throws -> (failures: Int, end: UnixTime)

  /// Notes a question about this request, and says whether it comes too soon after the last one: see ``PollPace``.
  func isTooFast(_ request: String, at now: UnixTime) async throws -> Bool
}

extension ServiceStorage {
  var limits: (any SharedLimits)? { nil }
}

extension FailureLimits {
  /// Counts a failure.
  ///
  /// Only failures cost a step in the database, and only until their sender is told to wait. If there are too many to
  /// count, the sender is told to wait. If the database does not answer, this server counts by itself.
  ///
  /// - Parameter shared: nil for a database of one server.
  /// - Returns: for how many seconds the sender is told to wait; nil: it is told why it failed.
  func note(
    _ kind: Kind, from source: String, with shared: (any SharedLimits)?, at now: UnixTime
  ) async -> Int64? {
    let wait = wait(for: kind, from: source, at: now)
    count(kind, from: source, at: now)
    guard wait == nil, let shared else { return wait }
    let (greatest, window) = Self.allowance(kind)
    do {
      let found = try await shared.count(Self.key(kind, source), within: window, at: now)
      adopt(found.failures, until: found.end, kind, from: source)
      return found.failures > greatest ? self.wait(for: kind, from: source, at: now) : nil
    } catch is StorageBusy {
      // Otherwise a flood of failures would have each server count alone.
      return StorageBusy.pause
    } catch {
      return nil
    }
  }

  /// One of 65,536 for each kind of failure: names come from anybody, who must not choose how many rows there are.
  /// Whoever fails and shares one is told to wait, and not why it failed. A right request is taken all the same.
  static func key(_ kind: Kind, _ source: String) -> String {
    let digest = Digest.hexadecimal(Digest.sha256(Array("\(kind) \(source)".utf8)))
    return "\(kind.name) \(digest.prefix(4))"
  }
}

extension PollPace {
  /// Whether this question comes too soon after the last one of the same request, at any server. If there
  /// are too many to count, it does. If the database does not answer, this server counts by itself.
  func isTooFast(_ request: String, with shared: (any SharedLimits)?, at now: UnixTime) async -> Bool {
    let isTooFast = isTooFast(request, at: now)
    guard let shared else { return isTooFast }
    do { return try await shared.isTooFast(request, at: now) } catch { return error is StorageBusy || isTooFast }
  }
}
