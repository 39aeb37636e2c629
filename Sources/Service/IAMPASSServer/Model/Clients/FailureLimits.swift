import DeviceProtocol
import IAMPASSProtocol
import Synchronization

/// Counts refused requests by their sender, and says when a sender is told to wait. In memory: a restart forgets. Several
/// servers of one database count together: see ``SharedLimits``.
///
/// A right request is taken however many wrong ones came before. Signatures and codes have 128 bits, so guessing leads
/// nowhere, and many may be behind one address: whoever sends wrong ones must not keep the others out. Beyond the limit,
/// what is remembered of the id decides which requests are worth the work: see ``ServiceCore/earlyRefusal(_:_:unless:)``.
///
/// Signatures are counted for the id they are made under, too: a computer or phone that was set up wrongly, or pretends to
/// be one, shuts out nobody else behind its address.
final class FailureLimits: Sendable {
  /// What is counted separately.
  enum Kind: Hashable, Sendable {
    case signature(client: String)
    case registration
    case joining
    case answer(device: String)
    /// Each sign-in that a browser begins at the console, also one that ends well.
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

  /// Counters that are kept at most; each takes some hundred bytes.
  static let greatestCount = 10_000
  /// Milliseconds between two requests beyond the limit that are let through.
  private static let lookInterval: Int64 = 1_000

  private struct Key: Hashable {
    let source: String
    let kind: Kind
  }

  private struct Counter {
    var failures: Int
    let end: UnixTime
    /// When a request beyond the limit was let through for the last time.
    var lookedAt: UnixTime?
  }

  private let counters = Mutex<[Key: Counter]>([:])

  /// How many failures within how many seconds; further failures are told to wait until these are over.
  static func allowance(_ kind: Kind) -> (failures: Int, window: Int64) {
    switch kind {
    // A computer that was set up wrongly tries again every few seconds.
    case .signature: (30, 60)
    // Whoever mistypes a link needs few tries.
    case .registration: (30, 600)
    // An image with an old code, on many computers behind one address, tries again at each start.
    case .joining: (60, 600)
    // Counted for each phone: many may be behind one address, and a right one never fails.
    case .answer: (120, 60)
    // Each one may ring an administrator's phone.
    case .consoleSignIn: (30, 600)
    }
  }

  /// Seconds that a further failure of this kind is told to wait; nil: it is told why it failed.
  func wait(for kind: Kind, from source: String, at now: UnixTime) -> Int64? {
    counters.withLock { counters in
      guard let counter = counters[Key(source: source, kind: kind)], now < counter.end,
        counter.failures >= Self.allowance(kind).failures
      else { return nil }
      return (counter.end.milliseconds(since: now) + 999) / 1_000
    }
  }

  /// The same before any work; nil also for one request a second: what is remembered of an id may be old.
  func waitBeforeWork(for kind: Kind, from source: String, at now: UnixTime) -> Int64? {
    guard let wait = wait(for: kind, from: source, at: now) else { return nil }
    let isToBeLookedAt = counters.withLock { counters in
      let last = counters[Key(source: source, kind: kind)]?.lookedAt
      guard last.map({ (0..<Self.lookInterval).contains(now.milliseconds(since: $0)) }) != true else { return false }
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

  /// Takes what all servers counted together in the place of this one's own count.
  func adopt(_ failures: Int, until end: UnixTime, _ kind: Kind, from source: String) {
    counters.withLock { counters in
      let key = Key(source: source, kind: kind)
      guard let counter = counters[key] else { return }
      counters[key] = Counter(failures: failures, end: end, lookedAt: counter.lookedAt)
    }
  }

  var keptCount: Int { counters.withLock { $0.count } }

  /// Forgets the counters that are over, and if that is not enough, the half that would be over first. A flood of
  /// addresses costs bounded memory, and this work only once in thousands of requests.
  private static func makeRoom(_ counters: inout [Key: Counter], _ now: UnixTime) {
    counters = counters.filter { now < $0.value.end }
    guard counters.count >= greatestCount else { return }
    let oldest = counters.sorted { $0.value.end < $1.value.end }.prefix(counters.count / 2)
    for (key, _) in oldest { counters[key] = nil }
  }
}

extension FailureLimits.Kind {
  /// What is kept of a name that anybody may make up: by bytes, since one character may have any number of marks.
  static func cut(_ name: String) -> String { String(decoding: name.utf8.prefix(64), as: UTF8.self) }

  /// Whether this id is not known. Such requests are counted by each server alone: ids are known or random, so nobody
  /// guesses one, and what strangers make up must not cost a step in the database.
  func isUnknown(_ reason: Reason) -> Bool {
    if case .signature = self { [.unknownApplication, .unknownSession].contains(reason) } else { false }
  }

  /// Whether a reply with this reason may be the trace of guessing.
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
