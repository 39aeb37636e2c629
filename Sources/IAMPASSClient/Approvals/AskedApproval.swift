import IAMPASSProtocol

/// What one request asked the phone to sign: drawn here, so that nobody on the way can choose it.
struct AskedApproval: Sendable {
  /// In bytes; two digits have a hundred values, and a byte has no fair share for more than twice that.
  private static let fairBytes = 0..<200

  let demand: ApprovalDemand
  let challenge: ApprovalChallenge
  /// Two digits, shown at the terminal.
  let code: Secret
  /// ``ShownContext/hash(_:)`` of the context that is sent.
  let contextHash: String
  /// The service's, as the phone spells it.
  let origin: String

  /// With a new challenge.
  ///
  /// - Parameter code: from ``drawCode()``; nil: a new one.
  /// - Throws: ``ServiceError/noRandomness``.
  init(_ demand: ApprovalDemand, code: Secret? = nil, context: SignInContext, origin: String) throws(ServiceError) {
    guard let challenge = ApprovalChallenge.draw(), let code = code ?? Self.drawCode() else { throw .noRandomness }
    self.demand = demand
    self.challenge = challenge
    self.code = code
    contextHash = ShownContext.hash(context)
    self.origin = origin
  }

  /// 00 to 99, each as likely as the others; nil if the kernel gives no random bytes.
  static func drawCode() -> Secret? {
    // A byte is out of the fair range less than once in four times.
    for _ in 0..<64 {
      guard let byte = Digest.randomBytes(1)?.first else { return nil }
      guard fairBytes.contains(Int(byte)) else { continue }
      let number = byte % 100
      return Secret(bytes: [UInt8(ascii: "0") + number / 10, UInt8(ascii: "0") + number % 10])
    }
    return nil
  }

  /// Whether the service understood: it repeats the challenge, asks for this code, and names the session that the phone
  /// will sign for.
  func isRepeated(in started: StartedSession) -> Bool {
    started.challenge == challenge && started.matchCode.map { Secret($0) } == code && started.name != nil
  }
}
