import IAMPASSProtocol

extension AskedApproval {
  /// Random bytes that are used. 200 is a multiple of the hundred codes, so all codes are equally likely.
  private static let fairBytes = 0..<200

  /// Draws a new challenge here, so that no intermediary can choose it.
  ///
  /// - Parameter code: from ``drawCode()``; nil: a new one. Not used if the context says that none is shown.
  /// - Throws: ``ServiceError/noRandomness``.
  init(_ demand: ApprovalDemand, code: Secret? = nil, context: SignInContext, origin: String) throws(ServiceError) {
    guard let challenge = ApprovalChallenge.draw(), let code = code ?? Self.drawCode() else { throw .noRandomness }
    self.init(demand, challenge: challenge, code: code, context: context, origin: origin)
  }

  /// A code from 00 to 99, all equally likely; nil if the kernel gives no random bytes.
  package static func drawCode() -> Secret? {
    // A byte is out of this range in fewer than one of four cases.
    for _ in 0..<64 {
      guard let byte = Digest.randomBytes(1)?.first else { return nil }
      guard fairBytes.contains(Int(byte)) else { continue }
      let number = byte % 100
      return Secret(bytes: [UInt8(ascii: "0") + number / 10, UInt8(ascii: "0") + number % 10])
    }
    return nil
  }

  /// The code for the service; nil if none is shown.
  var shownCode: Secret? { code.isEmpty ? nil : code }

  /// Whether the service understood: it repeats the challenge, asks for this code, or for none, and names the session that
  /// the phone will sign for.
  func isRepeated(in started: StartedSession) -> Bool {
    started.challenge == challenge && started.matchCode.map { Secret($0) } == shownCode && started.name != nil
  }
}
