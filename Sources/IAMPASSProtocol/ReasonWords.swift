/// A service's word for why it did not do something (`REQUEST_PENDING`), as people are told it.
///
/// The words themselves are for logs: no terminal shows one. Words of the vendor's service and of ours.
public enum ReasonWord {
  public static let requestPending = "REQUEST_PENDING"

  /// What is shown of a reason: of a word its meaning, of prose the prose, made harmless; nil for a word that this
  /// version does not know, and where there is no reason.
  public static func text(of reason: String?) -> String? {
    guard let reason, !reason.isEmpty else { return nil }
    let isWord = reason.utf8.allSatisfy {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_")
    }
    return meanings[reason] ?? (isWord ? nil : DisplayText.sanitized(reason, limit: 100))
  }

  private static let meanings = [
    // Not asked.
    "NO_MOBILE_DEVICE": "no phone is registered for you",
    "UNKNOWN_METHOD": "the server does not know the way to answer that is wanted here",
    "METHOD_NOT_AVAILABLE": "your phone cannot answer in the way that is wanted here",
    requestPending: "your phone has another open request; answer that first",
    "APPLICATION_DISABLED": "sign-in by phone is switched off",
    "CONTEXT_REQUIRED": "this computer does not say who asks, see send_context",
    "SOURCE_BLOCKED": "you said on your phone that a request from here was not yours",
    "TOO_MANY_DENIALS": "denied too often, try again later",
    "TOO_MANY_REQUESTS": "too many requests in the last two minutes, try again later",
    "BAD_DURATION": "the server does not accept how long a session may last here, see session_duration",
    "UNKNOWN_APPLICATION": "the server does not know this application",
    "UNKNOWN_USER": "the server does not know this user",
    "CREDENTIAL_REVOKED": "this computer's credential was revoked",
    "HOST_MAY_NOT_MANAGE": "this computer's credential may not manage users and phones",
    "BAD_USER_ID": "the server does not accept this user's token",
    "HAS_MOBILE_DEVICE": "this user has a phone already",
    "SMS_NOT_CONFIGURED": "the server sends no text messages",
    "SMS_NOT_SENT": "the text message could not be sent",
    "BAD_PHONE_NUMBER": "this is not a phone number",
    "NO_USERS": "no user was named",
    // Ended.
    "DENIED": "denied on your phone",
    "NOT_ME": "you said on your phone that this was not you",
    "WRONG_CODE": "another code was typed on your phone",
    "NOT_ANSWERED": "not answered in time",
    "NOT_COLLECTED": "the approval came too late",
    "LOGGED_OUT": "the request was taken back",
    "ENDED_ON_PHONE": "the session was ended on your phone",
    "EXPIRED": "the session's time is over",
    "USER_DELETED": "this user was removed at the server",
    "PHONE_LOST": "your phone was reported as lost",
    "PHONE_UNREGISTERED": "your phone is not registered any more",
  ]
}
