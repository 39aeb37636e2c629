extension Reason {
  /// The HTTP status of a refusal for this reason. 200 means that the request was accepted, and its reply says why
  /// nothing was done, as in the documentation.
  var status: Int {
    switch self {
    case .badUserID, .noUsers, .noTextMessages, .badPhoneNumber, .messageNotSent, .noAdministrator,
      .administratorBusy, .changeDenied, .changeCodeWrong, .changeNotAnswered, .changeUsed, .userNameNotFit,
      .groupNameNotFit, .noMobileDevice, .requestPending, .computerHeld, .contextRequired, .codeRequired,
      .sourceBlocked, .badDisplayName, .nameWithoutUser,
      .tooManyDenials, .codeInUse:
      200
    case .badRequest, .wrongBody, .unknownMethod, .badDuration, .wrongHost, .reservedService, .badPublicKey,
      .badCredential, .answerTooLong, .wrongContext, .wrongNonce, .wrongChallenge, .codeMissing, .badSubscription:
      400
    case .authenticationMissing, .timestampMissing, .timestampOutsideWindow, .signatureRefused, .nonceReplayed,
      .credentialRevoked, .notSignedIn, .unknownDevice, .wrongOrigin:
      401
    case .hostMayNotManage, .hostCredentialRequired, .badFormToken, .roleTooLow, .ownApplication, .joinCodeExpired,
      .joinCodeRevoked, .joinCodeUsed, .computerNameTaken, .joinRefused, .methodNotAvailable, .applicationDisabled,
      .deviceCutOff, .wrongMethod, .assertionMissing, .assertionRefused, .syncedPasskey, .wrongCode:
      403
    case .notFound, .unknownApplication, .unknownUser, .unknownSession, .unknownCredential, .unknownJoinCode,
      .unknownLink, .unknownRequest:
      404
    case .methodNotAllowed: 405
    case .requestTooSlow: 408
    case .changedMeanwhile, .hasMobileDevice, .alreadyAnswered:
      409
    case .linkUsed, .linkExpired, .tooLate:
      410
    case .bodyTooLarge: 413
    case .tooManyFailures: 429
    case .storageUnavailable, .stopping, .tooManyRequests:
      503
    }
  }
}
