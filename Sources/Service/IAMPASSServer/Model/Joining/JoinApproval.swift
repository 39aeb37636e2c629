import IAMPASSProtocol

/// What follows for a computer that waits to join from what administrators' phones said. Pure.
enum JoinApproval {
  /// How often the phones are asked about one computer, and the seconds between two times: whoever has a code must not
  /// ring them for ever. The digits rest for two minutes after a request that nobody answered.
  static let greatestRounds = 3
  static let pause: Int64 = 200
  /// Seconds until phones that could not be asked are tried again.
  private static let retryInterval: Int64 = 15
  /// Administrators whose phones ring for one computer.
  static let greatestAsked = 5
  /// Digits of the computer's mark that a phone asks for: the last ones.
  static let codeLength = 2

  enum Step: Sendable {
    /// An administrator's phone said so, by this session.
    case decide(isApproved: Bool, Session)
    case ask
    case wait
  }

  /// - Parameter admins: the users whose role lets computers join, now.
  static func next(_ one: WaitingJoin, admins: Set<Int64>, at now: UnixTime) -> Step {
    let valid = one.asks.filter { $0.user.map(admins.contains) ?? false }
    if let denied = valid.first(where: { [.denied, .notMe].contains($0.lifecycle.ending) }) {
      return .decide(isApproved: false, denied)
    }
    // Nobody may have collected it: the computer stopped asking, and asks again.
    if let approved = valid.first(where: { one in
      one.lifecycle.approvedAt != nil && [nil, .notCollected].contains(one.lifecycle.ending)
    }) {
      return .decide(isApproved: true, approved)
    }
    let begin = one.asks.last.map { $0.lifecycle.startedAt.advanced(seconds: pause) } ?? one.joining.askedAt
    let rounds = Set(one.asks.map(\.lifecycle.startedAt.milliseconds)).count
    guard now >= begin, rounds < greatestRounds else { return .wait }
    // Phones that could not be asked are not tried at each look.
    let age = now.seconds - begin.seconds
    return age < 2 || age % retryInterval == 0 ? .ask : .wait
  }

  static func code(of mark: String) -> Secret { Secret(String(mark.suffix(codeLength))) }
}
