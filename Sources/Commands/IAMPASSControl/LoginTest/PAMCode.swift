import CPAM

/// A result of libpam, in words.
struct PAMCode {
  private let code: Int32

  init(_ code: Int32) { self.code = code }

  var name: String {
    switch code {
    case PAM_SUCCESS: "success"
    case PAM_OPEN_ERR: "open_err"
    case PAM_SYMBOL_ERR: "symbol_err"
    case PAM_SERVICE_ERR: "service_err"
    case PAM_SYSTEM_ERR: "system_err"
    case PAM_BUF_ERR: "buf_err"
    case PAM_PERM_DENIED: "perm_denied"
    case PAM_AUTH_ERR: "auth_err"
    case PAM_CRED_INSUFFICIENT: "cred_insufficient"
    case PAM_AUTHINFO_UNAVAIL: "authinfo_unavail"
    case PAM_USER_UNKNOWN: "user_unknown"
    case PAM_MAXTRIES: "maxtries"
    case PAM_NEW_AUTHTOK_REQD: "new_authtok_reqd"
    case PAM_ACCT_EXPIRED: "acct_expired"
    case PAM_SESSION_ERR: "session_err"
    case PAM_CONV_ERR: "conv_err"
    case PAM_IGNORE: "ignore"
    case PAM_ABORT: "abort"
    case PAM_AUTHTOK_EXPIRED: "authtok_expired"
    case PAM_MODULE_UNKNOWN: "module_unknown"
    default: "code \(code)"
    }
  }

  /// What the code means for the whole stack; nil if its name says it.
  var meaning: String? {
    switch code {
    case PAM_AUTH_ERR: "not approved in time, or a wrong password"
    case PAM_MAXTRIES: "denied on the phone, or too many tries: no password is asked for any more"
    case PAM_ABORT: "interrupted, or asked again after a denial"
    case PAM_AUTHINFO_UNAVAIL: "the phone could not be asked, and nothing else signed the user in"
    case PAM_USER_UNKNOWN: "nobody of this name, or without a token where nothing else signs in"
    case PAM_SERVICE_ERR: "a module's configuration is broken: iampassctl check"
    case PAM_PERM_DENIED: "denied on the phone, or the stack refuses this user"
    case PAM_SESSION_ERR: "the session cannot be opened: see journalctl -t iampassctl"
    case PAM_ACCT_EXPIRED: "the account has expired"
    case PAM_NEW_AUTHTOK_REQD: "the password must be changed first"
    case PAM_CONV_ERR: "a question was not answered"
    case PAM_OPEN_ERR, PAM_SYMBOL_ERR, PAM_MODULE_UNKNOWN: "a module's file is missing or broken"
    default: nil
    }
  }
}
