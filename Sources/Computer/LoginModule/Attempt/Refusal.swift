import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why nobody was signed in by phone.
///
/// What follows from each case is one row of a table without `default`, ``row``: a new case does not compile until its
/// row is written.
public enum Refusal: Error, Sendable, Equatable {
  /// The state that every attempt begins in.
  case notDecided
  case denied
  /// Other digits than the terminal's were typed on the phone, which denies the request.
  case wrongDigits
  case notAnswered
  /// The service ended the request, with its reason as received.
  case endedWhileWaiting(RequestEnd, reason: String?)
  /// A password was typed at our prompt, for the next module.
  case passwordTyped
  /// Twice an empty answer came before anybody could have read the question.
  case answeredByNobody
  /// The program was called so that it asks its user nothing: `sudo -n`.
  case asksNothing
  /// Something was typed at a prompt that asked for Enter alone.
  case textAtSecondFactor
  case noToken
  /// The system does not say who the user is, so that nobody knows whether there is a token. Never taken for
  /// ``noToken``, which may open by the password alone.
  case lookupFailed(UserLookupError)
  /// This user has a token, and the system does not know the name: a user who is gone, or whose directory is away.
  case notInSystem(UnixUsername)
  case noPhone
  /// This computer trusts no phone that could sign this user in.
  case phoneNotTrusted(TrustGap)
  /// Signatures of phones cannot be checked on this computer.
  case cannotVerify(VerifierError)
  /// This computer trusted the phone when the phone was asked, and does not any more.
  case phoneForgotten
  /// The service knows no verified approvals.
  case notVerifiable
  /// The service did not start the request, with its reason as received.
  case notStarted(reason: String?)
  /// `send_command = yes`, and the command line cannot be read.
  case commandNotRead
  /// `long_command = refuse`, and the phone would not show all of the command.
  case commandTooLong
  /// This computer's limit. The next request is possible after this many seconds.
  case tooManyRequests(secondsLeft: Int64)
  case limiterBroken(FileError)
  case serviceNotListed
  /// The caller may not read the secrets, and no broker runs that asks for it.
  case callerNotRoot
  /// The broker left while the phone was asked.
  case brokerLost
  /// The broker's ending, with the user's line as received. An empty text shows nothing.
  case byBroker(BrokerEnding, String)
  case unavailable(ServiceError)
  /// The session would have to be watched, and could have no record: the phone was not asked.
  case notRecordable(LedgerError)
  /// The session would have to be watched, and no record can be kept of it.
  case recordNotKept(LedgerError)
  case misconfigured(Misconfiguration)
  case interrupted
  case terminalGone
  /// The prompt was answered by nothing (NULL).
  case promptNotAnswered
  /// The terminal went, or its prompt was answered by nothing, while the phone was asked.
  case abandoned
  /// PAM_USER is not the name any more that the phone approved for.
  case userChanged
  /// A recovery code could have been typed because the phone could not be asked.
  indirect case offered(OfferEnding, after: Refusal)
}

/// The end of a request that the phone neither approved nor denied, and that did not run out of time.
public enum RequestEnd: Sendable, Equatable {
  /// The phone could not identify its user.
  case failed
  /// The phone left.
  case walkaway
  case closed
  /// A word that this version does not know, or that does not end a request.
  case unknown(String)

  /// The service's own word, as received.
  var word: String {
    switch self {
    case .failed: SessionStatus.failed.word
    case .walkaway: SessionStatus.walkaway.word
    case .closed: SessionStatus.closed.word
    case .unknown(let word): word
    }
  }
}

extension Refusal {
  /// What it means that files or settings cannot be used.
  init(_ error: Misconfiguration) {
    self = error.failedLookup.map { .lookupFailed($0) } ?? .misconfigured(error)
  }

  /// What the status of a request that is over means. No other place says what a denial is. The reason changes words
  /// alone.
  init(endedBy status: SessionStatus, reason: String?) {
    self =
      switch status {
      case .cancelled: reason == ReasonWord.wrongCode ? .wrongDigits : .denied
      case .timeout: .notAnswered
      case .failed: .endedWhileWaiting(.failed, reason: reason)
      case .walkaway: .endedWhileWaiting(.walkaway, reason: reason)
      case .closed: .endedWhileWaiting(.closed, reason: reason)
      case .unknown, .pending, .identifying, .active: .endedWhileWaiting(.unknown(status.word), reason: reason)
      }
  }

  /// What a failed request means: an interruption is not the service's fault.
  init(_ error: ServiceError) {
    if case .transport(let transport) = error, transport.code == .interrupted {
      self = .interrupted
    } else {
      self = .unavailable(error)
    }
  }

  /// What it means that no approval could be verified.
  init(_ error: PhoneTrustError) {
    switch error {
    case .file(let error, let path): self.init(Misconfiguration.phones(error, path: path))
    case .gap(let gap): self = .phoneNotTrusted(gap)
    }
  }

  /// See ``RefusalRow/followsARequest``.
  var followsARequest: Bool { row.followsARequest }

  /// See ``RefusalRow/mayHaveRung``.
  var mayHaveRung: Bool { row.mayHaveRung }
}

extension ServiceError {
  /// Whether the phone can have rung although the request did not start.
  var mayHaveRung: Bool {
    switch self {
    case .transport(let error): error.code.mayHaveArrived
    // The service, or a server before it, refused the request unread.
    case .notAccepted, .clockDiffers, .notFound, .redirected, .noRandomness, .codesNotKept: false
    case .tooManyRequests, .serverFailed, .unexpectedStatus, .badReply, .replyNotSigned, .replyTargetNotSigned,
      .replyForAnother, .approvalNotVerified, .foreignAddress, .badSessionSecret, .requestStaysNoted:
      true
    }
  }
}
