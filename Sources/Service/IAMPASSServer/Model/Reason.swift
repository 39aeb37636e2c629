/// Why a request is refused: the `reason` of the reply.
public enum Reason: String, Sendable, CaseIterable {
  case badRequest = "BAD_REQUEST"
  case bodyTooLarge = "BODY_TOO_LARGE"
  /// The signed address names another body's digest.
  case wrongBody = "WRONG_BODY"
  case requestTooSlow = "REQUEST_TOO_SLOW"
  case notFound = "NOT_FOUND"
  case methodNotAllowed = "METHOD_NOT_ALLOWED"
  case storageUnavailable = "STORAGE_UNAVAILABLE"
  case stopping = "STOPPING"
  case tooManyFailures = "TOO_MANY_FAILURES"

  case authenticationMissing = "AUTHENTICATION_MISSING"
  case timestampMissing = "TIMESTAMP_MISSING"
  case timestampOutsideWindow = "TIMESTAMP_OUTSIDE_WINDOW"
  case signatureRefused = "SIGNATURE_REFUSED"
  case nonceReplayed = "NONCE_REPLAYED"
  case credentialRevoked = "CREDENTIAL_REVOKED"
  case hostMayNotManage = "HOST_MAY_NOT_MANAGE"
  /// Only a computer with its own credential may ask this.
  case hostCredentialRequired = "HOST_CREDENTIAL_REQUIRED"

  case unknownApplication = "UNKNOWN_APPLICATION"
  case unknownUser = "UNKNOWN_USER"
  case unknownSession = "UNKNOWN_SESSION"
  case badUserID = "BAD_USER_ID"
  case noUsers = "NO_USERS"
  /// A user's name for people is too long, or has characters that readers would not see.
  case badDisplayName = "BAD_DISPLAY_NAME"
  /// The request has a name for a user whom it does not add.
  case nameWithoutUser = "NAME_WITHOUT_USER"
  case noTextMessages = "SMS_NOT_CONFIGURED"
  case badPhoneNumber = "BAD_PHONE_NUMBER"
  case messageNotSent = "SMS_NOT_SENT"

  case notSignedIn = "NOT_SIGNED_IN"
  case badFormToken = "BAD_FORM_TOKEN"
  /// The administrator's role does not allow it.
  case roleTooLow = "ROLE_TOO_LOW"
  /// It would give the administrators' own application to others.
  case ownApplication = "OWN_APPLICATION"
  /// Another administrator changed the same thing after the page was made.
  case changedMeanwhile = "CHANGED_MEANWHILE"
  case unknownCredential = "UNKNOWN_CREDENTIAL"

  case unknownJoinCode = "UNKNOWN_JOIN_CODE"
  case joinCodeExpired = "JOIN_CODE_EXPIRED"
  case joinCodeRevoked = "JOIN_CODE_REVOKED"
  case joinCodeUsed = "JOIN_CODE_USED"
  /// Another computer of this name has joined or waits.
  case computerNameTaken = "COMPUTER_NAME_TAKEN"
  case joinRefused = "JOIN_REFUSED"

  /// No administrator with a sufficient role has a phone that could be asked.
  case noAdministrator = "NO_ADMINISTRATOR"
  /// Administrators' phones have another open request of the same computer.
  case administratorBusy = "ADMINISTRATOR_BUSY"
  case changeDenied = "CHANGE_DENIED"
  /// Approved with other digits than the terminal shows.
  case changeCodeWrong = "CHANGE_CODE_WRONG"
  case changeNotAnswered = "CHANGE_NOT_ANSWERED"
  /// The approval was already used.
  case changeUsed = "CHANGE_USED"
  case userNameNotFit = "USER_NAME_NOT_FIT"
  case groupNameNotFit = "GROUP_NAME_NOT_FIT"

  case noMobileDevice = "NO_MOBILE_DEVICE"
  case unknownMethod = "UNKNOWN_METHOD"
  case methodNotAvailable = "METHOD_NOT_AVAILABLE"
  case requestPending = "REQUEST_PENDING"
  case applicationDisabled = "APPLICATION_DISABLED"
  /// Two computers used the credential, or the computer's disk was restored, and the application holds such computers.
  case computerHeld = "COMPUTER_HELD"
  /// The application requires codes, and a client that sends no context would not show one.
  case contextRequired = "CONTEXT_REQUIRED"
  /// The application requires codes, and the computer's program cannot show one.
  case codeRequired = "CODE_REQUIRED"
  case sourceBlocked = "SOURCE_BLOCKED"
  case tooManyDenials = "TOO_MANY_DENIALS"
  /// All codes that this request could have are in use, or were in use until just now.
  case tooManyRequests = "TOO_MANY_REQUESTS"
  case badDuration = "BAD_DURATION"
  /// The context names another host than the credential, and the service may not change the context.
  case wrongHost = "WRONG_HOST"
  /// The context has the service name that is reserved for documents.
  case reservedService = "RESERVED_SERVICE"
  /// The computer chose a code that another terminal shows, or has just shown.
  case codeInUse = "CODE_IN_USE"

  case unknownLink = "UNKNOWN_LINK"
  case linkUsed = "LINK_USED"
  case linkExpired = "LINK_EXPIRED"
  case hasMobileDevice = "HAS_MOBILE_DEVICE"
  case badPublicKey = "BAD_PUBLIC_KEY"
  case badCredential = "BAD_CREDENTIAL"
  case unknownDevice = "UNKNOWN_DEVICE"
  case deviceCutOff = "DEVICE_CUT_OFF"
  case wrongOrigin = "WRONG_ORIGIN"
  case unknownRequest = "UNKNOWN_REQUEST"
  case alreadyAnswered = "ALREADY_ANSWERED"
  case tooLate = "TOO_LATE"
  case answerTooLong = "ANSWER_TOO_LONG"
  case wrongContext = "WRONG_CONTEXT"
  case wrongNonce = "WRONG_NONCE"
  case wrongChallenge = "WRONG_CHALLENGE"
  case wrongMethod = "WRONG_METHOD"
  case assertionMissing = "ASSERTION_MISSING"
  case assertionRefused = "ASSERTION_REFUSED"
  /// The application refuses credentials that may be synced between devices, and the phone's may be.
  case syncedPasskey = "SYNCED_PASSKEY"
  case codeMissing = "CODE_MISSING"
  case wrongCode = "WRONG_CODE"
  case badSubscription = "BAD_SUBSCRIPTION"
}
