import IAMPASSProtocol

/// Decides about a computer that waits to join, from the answers of administrators' phones. Pure.
enum JoinApproval {
  /// How often the phones are asked about one computer: a holder of a code must not ring them for ever.
  static let greatestRounds = 3
  /// The time between two rounds, in seconds. The digits are not reused for two minutes after an unanswered request.
  static let pause: Int64 = 200
  /// The time until phones that could not be asked are tried again, in seconds.
  private static let retryInterval: Int64 = 15
  /// The most administrators whose phones ring for one computer.
  static let greatestAsked = 5
  /// The number of last digits of the computer's mark that a phone asks for.
  static let codeLength = 2

  enum Step: Sendable {
    /// An administrator's phone has decided, by this session.
    case decide(isApproved: Bool, Session)
    case ask
    case wait
  }

  /// - Parameter admins: the users whose role now allows them to let computers join.
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
    guard now >= begin, rounds(of: one.asks) < greatestRounds else { return .wait }
    // Phones that could not be asked are not tried at each look.
    let age = now.seconds - begin.seconds
    return age < 2 || age % retryInterval == 0 ? .ask : .wait
  }

  private static func rounds(of asks: [Session]) -> Int { Set(asks.map(\.lifecycle.startedAt.milliseconds)).count }

  /// The name of this round's request to an administrator's phone: a look after one that did not come to note its request
  /// finds that request, and asks for no other.
  ///
  /// A computer may ask again once its requests are forgotten, and the answers to them are kept for longer. So the name
  /// has the day, too.
  static func startName(of one: WaitingJoin, to administrator: String, at now: UnixTime) -> StartName? {
    let text = "join \(one.joining.id) \(now.seconds / 86_400) \(rounds(of: one.asks)) \(administrator)"
    return StartName(String(Digest.hexadecimal(Digest.sha256(Array(text.utf8))).prefix(32)))
  }

  static func code(of mark: String) -> Secret { Secret(String(mark.suffix(codeLength))) }
}
