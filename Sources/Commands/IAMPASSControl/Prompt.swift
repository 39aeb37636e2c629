import CHost
import CommandSupport
import Glibc
import IAMPASSClient
import IAMPASSProtocol

/// Asks at the terminal. Ctrl-C and the end of the input end the command.
struct Prompt {
  /// The greatest length of an answer, in bytes. Addresses, names and secrets are shorter.
  private static let greatestLength = 4_096

  let interrupt: Interrupt

  /// Reads one line. The answer may be empty.
  func line(_ question: String) throws(CommandProblem) -> String {
    Terminal.put(question)
    var bytes = try answer()
    defer { wipe(&bytes) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads one line that the terminal does not show.
  func secret(_ question: String) throws(CommandProblem) -> Secret {
    let echo = Echo()
    defer { echo.restore() }
    Terminal.put(question)
    var bytes = try answer()
    defer { wipe(&bytes) }
    Terminal.say("")
    return Secret(bytes: bytes)
  }

  /// Asks for `y` or `yes`. Enter alone means no.
  func agrees(_ question: String) throws(CommandProblem) -> Bool {
    let word = try line(question + " [y/N] ").lowercased()
    return word == "y" || word == "yes"
  }

  private func answer() throws(CommandProblem) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.greatestLength)
    while true {
      guard interrupt.wait(milliseconds: nil, input: STDIN_FILENO) == .input else { throw .interrupted }
      var byte: UInt8 = 0
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      // This is Ctrl-D, or the terminal is gone.
      guard count == 1 else { throw .interrupted }
      if byte == UInt8(ascii: "\n") { return bytes }
      if bytes.count < Self.greatestLength { bytes.append(byte) }
    }
  }

  private func wipe(_ bytes: inout [UInt8]) { bytes.withUnsafeMutableBytes { iampass_wipe($0.baseAddress, $0.count) } }
}

/// The terminal's echo, switched off until it is restored.
private struct Echo {
  private var before = termios()
  private let isTerminal: Bool

  init() {
    isTerminal = tcgetattr(STDIN_FILENO, &before) == 0
    guard isTerminal else { return }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    // This drops earlier typing, which must not answer the question.
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
  }

  func restore() {
    guard isTerminal else { return }
    var before = before
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
  }
}
