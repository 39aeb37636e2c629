/// Translates a service's reason word (`REQUEST_PENDING`) for people.
///
/// Only logs contain the words themselves. The table holds the words of the vendor's service and of ours.
public enum ReasonWord {
  public static let requestPending = "REQUEST_PENDING"
  public static let codeInUse = "CODE_IN_USE"
  public static let codeRequired = "CODE_REQUIRED"
  public static let wrongCode = "WRONG_CODE"
  public static let noMobileDevice = "NO_MOBILE_DEVICE"

  /// The text to show for a reason: a known word's meaning, or the service's prose made safe to show. Nil without a
  /// reason, and for a word that this version does not know.
  public static func text(of reason: String?) -> String? {
    guard let reason, !reason.isEmpty else { return nil }
    let isWord = reason.utf8.allSatisfy {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_")
    }
    return meanings[reason] ?? (isWord ? nil : DisplayText.sanitized(reason, limit: 100))
  }

  /// Each word is in a manual page.
  static let meanings = [
    // Why no request was started.
    noMobileDevice: "no phone is registered for you",
    "UNKNOWN_METHOD": "the server does not support the required method",
    "METHOD_NOT_AVAILABLE": "your phone does not support the required method",
    requestPending: "your phone has another open request; answer that first",
    "APPLICATION_DISABLED": "sign-in by phone is switched off",
    "COMPUTER_HELD": "this computer may be a copy of another one, ask your administrator",
    "CONTEXT_REQUIRED": "the server requires the sign-in's details, see send_context",
    "SOURCE_BLOCKED": "you reported on your phone that a request from here was not yours",
    "TOO_MANY_DENIALS":
      "requests from here were denied too often, or answered with wrong digits; try again 15 minutes after the last one",
    "TOO_MANY_REQUESTS": "too many requests in the last two minutes, try again later",
    "RESERVED_SERVICE": "the service name stands for documents that administrators sign, choose another",
    "WRONG_HOST": "this computer's credential is for another host, see host in the credentials",
    codeInUse: "the code is still in use, try again",
    codeRequired: "the server requires digits, which this program cannot show",
    "BAD_DURATION": "the server does not accept this session_duration",
    "UNKNOWN_APPLICATION": "the server does not know this application",
    "UNKNOWN_USER": "the server does not know this user",
    "CREDENTIAL_REVOKED": "this computer's credential was revoked",
    "HOST_MAY_NOT_MANAGE": "this computer's credential may not manage users and phones",
    "HOST_CREDENTIAL_REQUIRED": "this computer has the application's credential, and needs one of its own for this",
    "BAD_USER_ID": "the server does not accept this user's token",
    "HAS_MOBILE_DEVICE": "this user already has a registered phone",
    "SMS_NOT_CONFIGURED": "the server cannot send text messages",
    "SMS_NOT_SENT": "the server could not send the text message",
    "BAD_PHONE_NUMBER": "this is not a phone number",
    "NO_USERS": "the request did not name a user",
    // Why a computer does not join.
    "UNKNOWN_JOIN_CODE": "the server does not know this join code",
    "JOIN_CODE_EXPIRED": "the join code has expired",
    "JOIN_CODE_REVOKED": "the join code was revoked",
    "JOIN_CODE_USED": "the join code has been used by as many computers as it is for",
    "COMPUTER_NAME_TAKEN": "another computer of this name has joined, or asks to",
    "JOIN_REFUSED": "an administrator refused this computer",
    // Why the list of users is not changed.
    "NO_ADMINISTRATOR": "no administrator of the service has a phone that could be asked",
    "ADMINISTRATOR_BUSY": "the administrators' phones have another open request of this computer",
    "CHANGE_DENIED": "an administrator denied it on the phone",
    "CHANGE_CODE_WRONG": "the wrong digits were typed on the administrator's phone",
    "CHANGE_NOT_ANSWERED": "no administrator answered in time",
    "CHANGE_USED": "an administrator approved it, and that approval has been used",
    "USER_NAME_NOT_FIT": "the server does not take this user name",
    "GROUP_NAME_NOT_FIT": "the server does not take this name of a group",
    // Why a request or session ended.
    "DENIED": "denied on your phone",
    "NOT_ME": "you reported on your phone that this was not you",
    wrongCode: "wrong digits were typed on your phone; try again",
    "NOT_ANSWERED": "not answered in time",
    "NOT_COLLECTED": "the approval came too late",
    "LOGGED_OUT": "the request was cancelled",
    "ENDED_ON_PHONE": "the session was ended on your phone",
    "EXPIRED": "the session has expired",
    "USER_DELETED": "this user was removed at the server",
    "PHONE_LOST": "your phone was reported as lost",
    "PHONE_UNREGISTERED": "your phone is no longer registered",
  ]
}
