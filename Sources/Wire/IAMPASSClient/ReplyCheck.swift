import IAMPASSProtocol
import WorkerLink

/// What one reply proves: its status, the service's clock and its signatures. Sign-ins, the helper and `setup` all use
/// this.
struct ReplyCheck {
  let reply: HTTPReply
  let question: SealedRequest
  let credential: ServiceCredential
  /// The wall clock, in seconds since 1970.
  let now: Int64

  /// Why the reply is not read; nil for 2xx. A refusal needs no signature: it opens nothing.
  var refusal: ServiceError? {
    switch reply.status {
    case 200..<300: nil
    case 300..<400: .redirected(status: reply.status)
    case 401, 403: clockRefusal ?? .notAccepted(status: reply.status)
    case 404, 410: .notFound
    case 429: .tooManyRequests(retryAfter: reply.header("Retry-After").flatMap(Self.seconds))
    case 500..<600: .serverFailed(status: reply.status)
    default: .unexpectedStatus(reply.status)
    }
  }

  /// Whether the credential or its signature was refused.
  var isTurnedAway: Bool { reply.status == 401 || reply.status == 403 }

  var strength: ReplyStrength { ReplyStrength(reply, to: question, credential) }

  /// The service's clock minus ours, in seconds; nil if the reply has no date.
  var clockDifference: Int64? { Self.clockDifference(of: reply, now: now) }

  static func clockDifference(of reply: HTTPReply, now: Int64) -> Int64? {
    reply.header("Date").flatMap(HTTPDate.unixTime).map { $0 - now }
  }

  /// In whole minutes; nil for clocks within the service's window.
  private var clockRefusal: ServiceError? {
    guard let distance = clockDifference?.magnitude, distance > RequestSigner.clockWindow else { return nil }
    return .clockDiffers(minutes: Int64(distance / 60))
  }

  /// `Retry-After` in seconds; nil for its date form, which no IAMPASS service uses.
  private static func seconds(_ text: String) -> Int64? {
    Int64(text).flatMap { $0 >= 0 ? $0 : nil }
  }
}

/// What a reply's signatures prove.
enum ReplyStrength {
  /// Nothing: the signature is missing or wrong.
  case none
  /// The service gave this reply under this nonce.
  case plain
  /// The service gave this reply to this question.
  case target

  fileprivate init(_ reply: HTTPReply, to question: SealedRequest, _ credential: ServiceCredential) {
    func isRight(_ received: String, _ expected: String) -> Bool {
      Digest.areEqual(Array(expected.utf8), Array(received.utf8))
    }
    if let received = reply.header(ReplySignature.targetHeader) {
      let expected = ReplySignature.targetSignature(
        secret: credential.secret, nonce: question.nonce, method: question.request.method.rawValue,
        address: question.covered.exposedValue, status: reply.status, body: reply.body)
      self = isRight(received, expected) ? .target : .none
    } else if let received = reply.header(ReplySignature.header) {
      let expected = ReplySignature.signature(
        secret: credential.secret, nonce: question.nonce, status: reply.status, body: reply.body)
      self = isRight(received, expected) ? .plain : .none
    } else {
      self = .none
    }
  }
}
