import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// Why a user was not signed in by phone.
///
/// The consequences of each case are one row of a table without `default`, ``row``. A new case does not compile until
/// its row is written.
public enum Refusal: Error, Sendable, Equatable {
  /// The state that every attempt begins in.
  case notDecided
  case denied
  /// Other digits than the terminal's were typed on the phone, which counts as a denial.
  case wrongDigits
  case notAnswered
  /// The service ended the request, with its reason as received.
  case endedWhileWaiting(RequestEnd, reason: String?)
  /// A password was typed at our prompt, for the next module.
  case passwordTyped
  /// An empty answer came twice before a user could have read the question.
  case answeredByNobody
  /// The program was told not to ask its user: `sudo -n`.
  case asksNothing
  /// Text was typed at a prompt for Enter alone.
  case textAtSecondFactor
  case noToken
  /// The system did not say who the user is, so it is not known whether there is a token. This is never taken for
  /// ``noToken``, which may open with the password alone.
  case lookupFailed(UserLookupError)
  /// This user has a token, but the system does not know the name. The user was removed, or the directory is out of
  /// reach.
  case notInSystem(UnixUsername)
  case noPhone
  /// This computer does not trust a phone that could sign this user in.
  case phoneNotTrusted(TrustGap)
  /// Signatures of phones cannot be checked on this computer.
  case cannotVerify(VerifierError)
  /// This computer trusted the phone when it was asked, but not any more.
  case phoneForgotten
  /// The service does not support verified approvals.
  case notVerifiable
  /// The service did not start the request, with its reason as received.
  case notStarted(reason: String?)
  /// `send_command = yes`, but the command line cannot be read.
  case commandNotRead
  /// `long_command = refuse`, and the phone would not show the whole command.
  case commandTooLong
  /// This computer's limit was reached. The next request is possible after this many seconds.
  case tooManyRequests(secondsLeft: Int64)
  case limiterBroken(FileError)
  case serviceNotListed
  /// The caller may not read the secrets, and the broker does not run.
  case callerNotRoot
  /// The broker left while the phone was asked.
  case brokerLost
  /// The broker's ending, with the line for the user as received. If it is empty, nothing is shown.
  case byBroker(BrokerEnding, String)
  case unavailable(ServiceError)
  /// The session must be watched, but a record could not be kept. The phone was not asked.
  case notRecordable(LedgerError)
  /// The session must be watched, but a record cannot be kept.
  case recordNotKept(LedgerError)
  case misconfigured(Misconfiguration)
  case interrupted
  case terminalGone
  /// The host gave no answer to the prompt (NULL).
  case promptNotAnswered
  /// The terminal was closed, or the host gave no answer, while the phone was asked.
  case abandoned
  /// PAM_USER is no longer the name that the phone has approved.
  case userChanged
  /// A recovery code could have been typed because the phone could not be asked.
  indirect case offered(OfferEnding, after: Refusal)
}

/// The end of a request that was neither approved nor denied, and did not time out.
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
  /// The refusal for files or settings that cannot be used.
  init(_ error: Misconfiguration) {
    self = error.failedLookup.map { .lookupFailed($0) } ?? .misconfigured(error)
  }

  /// The refusal for the status of an ended request. Only this place says what a denial is. The reason changes only the
  /// words.
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

  /// The refusal for a failed request. An interruption is not the service's fault.
  init(_ error: ServiceError) {
    if case .transport(let transport) = error, transport.code == .interrupted {
      self = .interrupted
    } else {
      self = .unavailable(error)
    }
  }

  /// The refusal if approvals could not be verified.
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
