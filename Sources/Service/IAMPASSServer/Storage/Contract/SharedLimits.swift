import IAMPASSProtocol

/// Counters that all servers of one database share. They may be lost when the database stops.
protocol SharedLimits: Sendable {
  /// Counts a failure under this key.
  ///
  /// - Parameter window: seconds from the first failure until the count begins again.
  /// - Returns: the number of failures including this one, and when the count begins again.
  func count(_ key: String, within window: Int64, at now: UnixTime) async throws -> (failures: Int, end: UnixTime)

  /// Notes a question about this request. Returns whether it comes too soon after the last one: see ``PollPace``.
  func isTooFast(_ request: String, at now: UnixTime) async throws -> Bool
}

extension ServiceStorage {
  var limits: (any SharedLimits)? { nil }
}

extension FailureLimits {
  /// Counts a failure.
  ///
  /// Only failures cost a step in the database, and only until their sender must wait. If there are too many to count,
  /// the sender must wait. If the database does not answer, this server counts alone.
  ///
  /// - Parameter shared: nil for a database of one server.
  /// - Returns: how many seconds the sender must wait; nil: the sender gets the reason of the failure.
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
      // Otherwise each server would count alone during a flood of failures.
      return StorageBusy.pause
    } catch {
      return nil
    }
  }

  /// One of 65,536 keys for each kind of failure: strangers choose names, and must not choose the number of rows. A
  /// failing sender who shares a key must wait, and does not get the reason. A valid request is still accepted.
  static func key(_ kind: Kind, _ source: String) -> String {
    let digest = Digest.hexadecimal(Digest.sha256(Array("\(kind) \(source)".utf8)))
    return "\(kind.name) \(digest.prefix(4))"
  }
}

extension PollPace {
  /// Whether this question comes too soon after the last one about the same request, at any server. It is true if there
  /// are too many to count. If the database does not answer, this server counts alone.
  func isTooFast(_ request: String, with shared: (any SharedLimits)?, at now: UnixTime) async -> Bool {
    let isTooFast = isTooFast(request, at: now)
    guard let shared else { return isTooFast }
    do { return try await shared.isTooFast(request, at: now) } catch { return error is StorageBusy || isTooFast }
  }
}
