import DeviceProtocol
import IAMPASSProtocol
import Synchronization

/// Counts refused requests by their sender, and decides when a sender must wait. The counts are in memory, and a
/// restart loses them. Several servers of one database count together: see ``SharedLimits``.
///
/// A valid request is accepted however many invalid ones came before. Signatures and codes have 128 bits, so they
/// cannot be guessed. Many clients may share one address, so invalid requests must not block the others. Beyond the
/// limit, what is remembered of the id decides which requests are checked: see
/// ``ServiceCore/earlyRefusal(_:_:unless:)``.
///
/// Signatures are also counted for their id. So a wrongly configured computer or phone, or an impostor, does not block
/// others behind its address.
final class FailureLimits: Sendable {
  /// What is counted separately.
  enum Kind: Hashable, Sendable {
    case signature(client: String)
    case registration
    case joining
    case answer(device: String)
    /// Each sign-in that a browser begins at the console's own page, even if it succeeds.
    case consoleSignIn

    var name: String {
      switch self {
      case .signature: "signature"
      case .registration: "registration"
      case .joining: "joining"
      case .answer: "answer"
      case .consoleSignIn: "console"
      }
    }
  }

  /// The most counters. Each takes some hundred bytes.
  static let greatestCount = 10_000
  /// The time between two requests beyond the limit that are checked, in milliseconds.
  private static let refreshInterval: Int64 = 1_000

  private struct Key: Hashable {
    let source: String
    let kind: Kind
  }

  private struct Counter {
    var failures: Int
    let end: UnixTime
    /// When a request beyond the limit was last checked.
    var lookedAt: UnixTime?
  }

  private let counters = Mutex<[Key: Counter]>([:])

  /// The number of failures that are allowed within a time in seconds. After further failures the sender must wait
  /// until this time is over.
  static func allowance(_ kind: Kind) -> (failures: Int, window: Int64) {
    switch kind {
    // A wrongly configured computer tries again every few seconds.
    case .signature: (30, 60)
    // A user who mistypes a link needs few tries.
    case .registration: (30, 600)
    // An image with an old code, on many computers behind one address, tries again at each start.
    case .joining: (60, 600)
    // This is counted for each phone: many may share one address, and a genuine phone does not fail.
    case .answer: (120, 60)
    // Each sign-in may ring an administrator's phone.
    case .consoleSignIn: (30, 600)
    }
  }

  /// How long the sender must wait after a failure of this kind, in seconds; nil: the sender gets the reason of the
  /// failure.
  func wait(for kind: Kind, from source: String, at now: UnixTime) -> Int64? {
    counters.withLock { counters in
      guard let counter = counters[Key(source: source, kind: kind)], now < counter.end,
        counter.failures >= Self.allowance(kind).failures
      else { return nil }
      return (counter.end.milliseconds(since: now) + 999) / 1_000
    }
  }

  /// The same, asked before a request is checked. It is nil also for one request each second, because what is
  /// remembered of an id may be old.
  func waitBeforeWork(for kind: Kind, from source: String, at now: UnixTime) -> Int64? {
    guard let wait = wait(for: kind, from: source, at: now) else { return nil }
    let isToBeLookedAt = counters.withLock { counters in
      let last = counters[Key(source: source, kind: kind)]?.lookedAt
      guard last.map({ (0..<Self.refreshInterval).contains(now.milliseconds(since: $0)) }) != true else { return false }
      counters[Key(source: source, kind: kind)]?.lookedAt = now
      return true
    }
    return isToBeLookedAt ? nil : wait
  }

  func count(_ kind: Kind, from source: String, at now: UnixTime) {
    let key = Key(source: source, kind: kind)
    counters.withLock { counters in
      if let counter = counters[key], now < counter.end {
        counters[key]?.failures += 1
        return
      }
      if counters[key] == nil, counters.count >= Self.greatestCount { Self.makeRoom(&counters, now) }
      counters[key] = Counter(failures: 1, end: now.advanced(seconds: Self.allowance(kind).window))
    }
  }

  /// Replaces this server's count by the count of all servers.
  func adopt(_ failures: Int, until end: UnixTime, _ kind: Kind, from source: String) {
    counters.withLock { counters in
      let key = Key(source: source, kind: kind)
      guard let counter = counters[key] else { return }
      counters[key] = Counter(failures: failures, end: end, lookedAt: counter.lookedAt)
    }
  }

  var keptCount: Int { counters.withLock { $0.count } }

  /// Removes the counters that are over, and if that is not enough, the half that would be over first. So a flood of
  /// addresses uses bounded memory, and this work is done only once in thousands of requests.
  private static func makeRoom(_ counters: inout [Key: Counter], _ now: UnixTime) {
    counters = counters.filter { now < $0.value.end }
    guard counters.count >= greatestCount else { return }
    let oldest = counters.sorted { $0.value.end < $1.value.end }.prefix(counters.count / 2)
    for (key, _) in oldest { counters[key] = nil }
  }
}

extension FailureLimits.Kind {
  /// The kept beginning of a name from a stranger. It is cut by bytes, because one character may have any number of
  /// combining marks.
  static func cut(_ name: String) -> String { String(decoding: name.utf8.prefix(64), as: UTF8.self) }

  /// Whether the reason is an unknown id. Each server counts such requests alone: ids are random and cannot be guessed,
  /// and invented ids must not cost a step in the database.
  func isUnknown(_ reason: Reason) -> Bool {
    if case .signature = self { [.unknownApplication, .unknownSession].contains(reason) } else { false }
  }

  /// Whether a reply with this reason may show that a client is guessing.
  func isFailure(_ reason: Reason) -> Bool {
    switch self {
    case .signature: [.signatureRefused, .nonceReplayed].contains(reason)
    case .registration: reason == .unknownLink
    case .joining: reason == .unknownJoinCode
    case .consoleSignIn: false
    case .answer:
      [
        .signatureRefused, .unknownDevice, .nonceReplayed, .unknownRequest, .wrongNonce, .wrongContext,
        .wrongChallenge, .assertionRefused,
      ].contains(reason)
    }
  }
}
