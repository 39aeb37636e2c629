import CHost
import CPAM
import CommandSupport
import Glibc
import HostSystem
import IAMPASSProtocol

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
      // SAFETY: what `TestedSignIn` gave to libpam, and holds for as long as libpam calls.
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
