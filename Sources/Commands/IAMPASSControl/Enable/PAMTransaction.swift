import CHost
import CPAM
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// One sign-in through libpam, shown step by step.
final class PAMTransaction {
  private static let margin = "  "

  private let service: String
  private let user: UnixUsername
  private let asSudo: Bool
  private let conversation: TerminalConversation
  private let handle: OpaquePointer
  private var last = PAM_SUCCESS

  /// - Parameters:
  ///   - folder: PAM's folder; nil for libpam's own folders.
  ///   - asSudo: whether to describe the caller as sudo does.
  init(service: String, user: UnixUsername, folder: String?, asSudo: Bool) throws(CommandProblem) {
    self.service = service
    self.user = user
    self.asSudo = asSudo
    conversation = TerminalConversation(interrupt: Interrupt())
    var callbacks = pam_conv(conv: TerminalConversation.callback, appdata_ptr: nil)
    // SAFETY: the transaction holds the conversation until pam_end, after which libpam calls no more.
    callbacks.appdata_ptr = Unmanaged.passUnretained(conversation).toOpaque()
    var started: OpaquePointer?
    let code =
      if let folder {
        pam_start_confdir(service, user.text, &callbacks, folder, &started)
      } else {
        pam_start(service, user.text, &callbacks, &started)
      }
    guard code == PAM_SUCCESS, let started else { throw .pam(service, PAMCode(code).name) }
    handle = started
    describeCaller()
  }

  deinit { pam_end(handle, last) }

  var wasInterrupted: Bool { conversation.wasInterrupted }

  /// The code of the first step that failed; PAM_SUCCESS if none did.
  func run() -> Int32 {
    Terminal.say("signing \(user) in through \(service)")
    let steps: [(String, (OpaquePointer, Int32) -> Int32)] = [
      ("authenticate", pam_authenticate), ("account", pam_acct_mgmt), ("open session", pam_open_session),
      ("close session", pam_close_session),
    ]
    for (name, call) in steps {
      Terminal.say(name)
      let began = MonotonicInstant.now()
      last = call(handle, 0)
      let took = MonotonicInstant.now().milliseconds(since: began)
      let code = PAMCode(last)
      let word = Terminal.colored(code.name, last == PAM_SUCCESS ? .green : .red)
      Terminal.say("\(Self.margin)\(word) after \(Self.duration(took))" + (code.meaning.map { ": \($0)" } ?? ""))
      guard last == PAM_SUCCESS else {
        conversation.noteInterruption()
        return last
      }
    }
    return PAM_SUCCESS
  }

  /// Sets what the service would say about its caller. For sudo, that is the user at their terminal.
  private func describeCaller() {
    if let name = ttyname(STDIN_FILENO) { pam_set_item(handle, PAM_TTY, name) }
    if service == "sshd" { pam_set_item(handle, PAM_RHOST, "localhost") }
    if asSudo { pam_set_item(handle, PAM_RUSER, user.text) }
  }

  private static func duration(_ milliseconds: Int64) -> String {
    milliseconds < 1_000 ? "\(milliseconds) ms" : "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
  }
}

/// Shows the modules' lines, and reads answers to their questions from the terminal.
final class TerminalConversation {
  private let interrupt: Interrupt
  private(set) var wasInterrupted = false

  init(interrupt: Interrupt) { self.interrupt = interrupt }

  /// Notes Ctrl-C while a module waited. The signal stays pending here, and the module has seen it.
  func noteInterruption() { if interrupt.isPending() { wasInterrupted = true } }

  static let callback:
    @convention(c) (
      Int32, UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
      UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?, UnsafeMutableRawPointer?
    ) -> Int32 = { count, messages, responses, data in
      guard let messages, let responses, let data, (1...32).contains(count) else { return PAM_CONV_ERR }
      // SAFETY: what `PAMTransaction` gave to libpam, and holds for as long as libpam calls.
      let conversation = Unmanaged<TerminalConversation>.fromOpaque(data).takeUnretainedValue()
      return conversation.answer(UnsafeBufferPointer(start: messages, count: Int(count)), responses)
    }

  /// libpam frees the answers.
  private func answer(
    _ messages: UnsafeBufferPointer<UnsafePointer<pam_message>?>,
    _ responses: UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>
  ) -> Int32 {
    guard let answers = calloc(messages.count, MemoryLayout<pam_response>.size) else { return PAM_BUF_ERR }
    let typed = answers.bindMemory(to: pam_response.self, capacity: messages.count)
    for (index, message) in messages.enumerated() {
      do throws(CommandProblem) { typed[index].resp = try answer(message) } catch {
        wasInterrupted = true
        for earlier in 0..<index { wipe(typed[earlier].resp) }
        free(answers)
        return PAM_CONV_ERR
      }
    }
    responses.pointee = typed
    return PAM_SUCCESS
  }

  /// The answer; nil for a message that needs none.
  private func answer(_ message: UnsafePointer<pam_message>?) throws(CommandProblem) -> UnsafeMutablePointer<CChar>? {
    guard let message else { throw .interrupted }
    let text = DisplayText.sanitized(message.pointee.msg.map { String(cString: $0) } ?? "", limit: 500)
    let prompt = Prompt(interrupt: interrupt)
    switch message.pointee.msg_style {
    case PAM_PROMPT_ECHO_OFF:
      return try prompt.secret("  asks     \(text)").withTerminatedBytes {
        strdup($0.assumingMemoryBound(to: CChar.self))
      }
    case PAM_PROMPT_ECHO_ON: return strdup(try prompt.line("  asks     \(text)"))
    case PAM_ERROR_MSG:
      Terminal.say("  error    \(text)")
      return nil
    default:
      Terminal.say("  message  \(text)")
      return nil
    }
  }

  private func wipe(_ text: UnsafeMutablePointer<CChar>?) {
    guard let text else { return }
    iampass_wipe(text, strlen(text))
    free(text)
  }
}

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
