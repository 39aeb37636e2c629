import IAMPASSProtocol
import WorkerLink

/// Why the service gave no valid answer. No case is ever an approval, or the end of a session.
public enum ServiceError: Error, Sendable, Equatable {
  /// No complete reply.
  case transport(TransportError)
  /// 401 or 403: the credential or the signature is not accepted.
  case notAccepted(status: Int)
  /// Not accepted. The service's clock differs from ours by this many minutes.
  case clockDiffers(minutes: Int64)
  /// 404 or 410.
  case notFound
  /// 429, with the wait in seconds, if the service names it.
  case tooManyRequests(retryAfter: Int64?)
  /// 5xx.
  case serverFailed(status: Int)
  /// 3xx. Redirects are never followed: another server would get the signature.
  case redirected(status: Int)
  case unexpectedStatus(Int)
  case badReply(MessageError)
  /// Signed replies are required, and this reply's signature is missing or wrong.
  case replyNotSigned
  /// The service is known to sign targets, and this reply has only the older signature.
  case replyTargetNotSigned
  /// The reply is about another session.
  case replyForAnother
  /// The service says that the phone approved, but what it sent does not prove that.
  case approvalNotVerified(ApprovalRefusal)
  /// `status_url` or `logout_url` is not the configured service's.
  case foreignAddress
  /// The session's secret does not have the form that the signing scheme requires.
  case badSessionSecret
  /// The system gave no random bytes.
  case noRandomness
  /// No match code is free, or this computer cannot keep its requests' codes apart.
  case codesNotKept
  /// The note of an answered request cannot be removed. A later sign-in would end the session because of it.
  case requestStaysNoted

  /// Whether a later try may succeed: after a failure of the network, an overload or a restart.
  public var isPassing: Bool {
    switch self {
    case .transport(let error): error.code.isOutage || error.code.isBrokenOff
    case .tooManyRequests, .serverFailed: true
    case .notAccepted, .clockDiffers, .notFound, .redirected, .unexpectedStatus, .badReply, .replyNotSigned,
      .replyTargetNotSigned, .replyForAnother, .approvalNotVerified, .foreignAddress, .badSessionSecret, .noRandomness,
      .codesNotKept, .requestStaysNoted:
      false
    }
  }

  /// Whether the service may have read the request.
  var mayHaveArrived: Bool {
    switch self {
    case .transport(let error): error.code.mayHaveArrived
    case .noRandomness, .codesNotKept: false
    case .notAccepted, .clockDiffers, .notFound, .redirected, .tooManyRequests, .serverFailed, .unexpectedStatus,
      .badReply, .replyNotSigned, .replyTargetNotSigned, .replyForAnother, .approvalNotVerified, .foreignAddress,
      .badSessionSecret, .requestStaysNoted:
      true
    }
  }

  /// Whether the phone may have rung although the request did not start.
  public var mayHaveRung: Bool {
    switch self {
    case .transport(let error): error.code.mayHaveArrived
    // The service, or a server before it, refused the request unread.
    case .notAccepted, .clockDiffers, .notFound, .redirected, .noRandomness, .codesNotKept: false
    case .tooManyRequests, .serverFailed, .unexpectedStatus, .badReply, .replyNotSigned, .replyTargetNotSigned,
      .replyForAnother, .approvalNotVerified, .foreignAddress, .badSessionSecret, .requestStaysNoted:
      true
    }
  }

  /// A connection that ended, as when a server is killed, even during the handshake. The request may have reached the
  /// service.
  var isLostConnection: Bool {
    guard case .transport(let error) = self else { return false }
    return error.code == .connectionLost || error.code == .tlsRefused
  }

  /// A few words for the user and the log: the reason, without an address or a secret.
  public var explanation: String {
    switch self {
    case .transport(let error): error.code.explanation
    case .notAccepted: "this computer is not enrolled any more; ask your administrator"
    case .clockDiffers(let minutes): "clock differs from the server by \(minutes) min"
    case .notFound: "request expired"
    case .tooManyRequests: "server has too many requests"
    case .serverFailed(let status): "server error \(status)"
    case .redirected: "redirect refused"
    case .unexpectedStatus(let status): "unexpected answer \(status)"
    case .badReply(.refused(let reason?)): ReasonWord.text(of: reason) ?? "refused for an unknown reason"
    case .badReply: "answer not understood"
    case .replyNotSigned: "answer is not signed"
    case .replyTargetNotSigned: "answer is signed, but not for this request"
    case .replyForAnother: "answer is for another session"
    case .approvalNotVerified(let refusal): refusal.explanation
    case .foreignAddress: "server sent a foreign address"
    case .badSessionSecret: "answer not understood"
    case .noRandomness: "no random numbers"
    case .codesNotKept: "match codes cannot be kept apart"
    case .requestStaysNoted: "the note of the request cannot be removed"
    }
  }
}

extension TransportError.Code {
  /// The network refused or did not answer. Only these errors, reported by a running worker, let `fail=open` apply.
  public var isOutage: Bool {
    switch self {
    case .nameNotFound, .nameLookupTimedOut, .connectionRefused, .connectTimedOut, .networkUnreachable, .tlsTimedOut,
      .tlsRefused:
      true
    case .tlsTooOld, .certificateExpired, .certificateNotYetValid, .certificateForAnotherHost, .certificateUntrusted,
      .silent, .connectionLost, .replyTooLarge, .notHTTP, .workerFailed, .workerDied, .interrupted:
      false
    }
  }

  /// Whether the request may have reached the service.
  public var mayHaveArrived: Bool {
    switch self {
    case .silent, .connectionLost, .replyTooLarge, .notHTTP, .workerDied, .interrupted: true
    case .nameNotFound, .nameLookupTimedOut, .connectionRefused, .connectTimedOut, .networkUnreachable, .tlsTimedOut,
      .tlsRefused, .tlsTooOld, .certificateExpired, .certificateNotYetValid, .certificateForAnotherHost,
      .certificateUntrusted, .workerFailed:
      false
    }
  }

  /// A connection that existed and broke. A wait may go on over a new connection.
  var isBrokenOff: Bool { self == .silent || self == .connectionLost }

  /// A few words for the user and the log.
  public var explanation: String {
    switch self {
    case .nameNotFound: "name not found"
    case .nameLookupTimedOut: "name lookup timed out"
    case .connectionRefused: "refused"
    case .connectTimedOut: "no answer"
    case .networkUnreachable: "network unreachable"
    case .tlsTimedOut, .silent: "server silent"
    case .tlsRefused: "TLS refused"
    case .tlsTooOld: "TLS too old"
    case .certificateExpired: "server certificate expired — check this computer's clock"
    case .certificateNotYetValid: "server certificate not yet valid — check this computer's clock"
    case .certificateForAnotherHost: "certificate is for another host"
    case .certificateUntrusted: "certificate is not trusted"
    case .connectionLost: "connection lost"
    case .replyTooLarge: "answer too large"
    case .notHTTP: "answer is not HTTP"
    case .workerFailed, .workerDied: "network worker failed"
    case .interrupted: "interrupted"
    }
  }
}
