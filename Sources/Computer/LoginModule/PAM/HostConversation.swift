import CHost
import CPAM
import Glibc
import IAMPASSProtocol

/// The user, through the host's conversation function.
struct HostConversation: Conversation {
  let host: PAMHost
  let signals: SignalWatch

  func say(_ text: String) throws(ConversationError) {
    let shown = DisplayText.sanitized(text)
    guard iampass_pam_say(host.handle, PAM_TEXT_INFO, shown) == PAM_SUCCESS else { throw .gone }
  }

  func show(link: String) throws(ConversationError) {
    for line in TerminalPicture.lines(of: link) + [link] {
      guard iampass_pam_say(host.handle, PAM_TEXT_INFO, line) == PAM_SUCCESS else { throw .gone }
    }
  }

  func ask(_ prompt: String) throws(ConversationError) -> Secret? {
    var answer: UnsafeMutablePointer<CChar>?
    // The host may wait for long, and a dump of it would have its registers.
    iampass_clear_vector_registers()
    // The host reads from its terminal, and must handle Ctrl-C itself.
    let outcome = signals.released { iampass_pam_ask(host.handle, DisplayText.sanitized(prompt), &answer) }
    defer {
      // SAFETY: libpam gave us this terminated text to free.
      if let answer {
        iampass_wipe(answer, strlen(answer))
        free(answer)
      }
    }
    guard outcome == PAM_SUCCESS else { throw .gone }
    guard let answer else { return nil }
    return Secret(copying: UnsafeRawBufferPointer(start: answer, count: strlen(answer)))
  }

  func keepPassword(_ password: Secret) throws(ConversationError) {
    guard host.setPassword(password) else { throw .gone }
  }
}
