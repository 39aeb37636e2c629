import CPAM
import CommandSupport
import Glibc
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

/// One sign-in through libpam, shown step by step.
final class TestedSignIn {
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
    // SAFETY: this holds the conversation until pam_end, after which libpam calls no more.
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
