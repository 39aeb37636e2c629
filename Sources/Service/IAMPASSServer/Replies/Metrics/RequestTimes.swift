/// The durations of requests, from the whole request until its reply. A held request counts until it is held, and a
/// stream until it begins.
final class RequestTimes: Sendable {
  /// The kind of a request. Its path has names, which must not be in metrics.
  enum Group: String, CaseIterable, Sendable {
    case start, status, logout, computer, management, openid, join, console, phone, events, page, health
    case published
    /// An unknown path.
    case other
  }

  /// The result of a request.
  enum Outcome: String, CaseIterable, Sendable {
    case done = "2xx"
    case led = "3xx"
    case refused = "4xx"
    case failed = "5xx"
    case held
  }

  private let histograms: [Group: [Outcome: Histogram]]

  init() {
    histograms = Dictionary(
      uniqueKeysWithValues: Group.allCases.map { group in
        (group, Dictionary(uniqueKeysWithValues: Outcome.allCases.map { ($0, Histogram()) }))
      })
  }

  func note(_ reply: ServiceReply, to route: Route?, after time: Duration) {
    histograms[Group(route)]?[Outcome(reply)]?.note(time)
  }

  /// The groups with requests, in a fixed order.
  var noted: [(group: Group, outcome: Outcome, noted: Histogram.Noted)] {
    Group.allCases.flatMap { group in
      Outcome.allCases.compactMap { outcome in
        guard let noted = histograms[group]?[outcome]?.noted, noted.count > 0 else { return nil }
        return (group, outcome, noted)
      }
    }
  }
}

extension RequestTimes.Outcome {
  fileprivate init(_ reply: ServiceReply) {
    guard reply.held == nil else {
      self = .held
      return
    }
    switch reply.status {
    case ..<300: self = .done
    case ..<400: self = .led
    case ..<500: self = .refused
    default: self = .failed
    }
  }
}

extension RequestTimes.Group {
  fileprivate init(_ route: Route?) {
    switch route {
    case nil: self = .other
    case .announcement, .signingKeys: self = .published
    case .health: self = .health
    case .openID: self = .openid
    case .join: self = .join
    case .console: self = .console
    case .management: self = .management
    case .session(.start): self = .start
    case .session(.status): self = .status
    case .session(.logout): self = .logout
    case .session: self = .computer
    case .phone(.events): self = .events
    case .phone(.showLink), .root, .phoneFile: self = .page
    case .phone: self = .phone
    }
  }
}
