/// The options before the command of a program like sudo(8).
public struct SudoOptions: Sendable, Equatable {
  /// `-n`: the program does not ask its user.
  public private(set) var asksNothing = false
  /// `-S`: the program reads the password from its standard input, at which another program answers, as Ansible does.
  public private(set) var readsStandardInput = false

  /// The options that take their value from the next argument, in sudo and sudo-rs.
  private static let shortWithValue = Array("aCcDgpRrTtUu".utf8)
  private static let longWithValue = [
    "--auth-type", "--close-from", "--login-class", "--chdir", "--group", "--host", "--prompt", "--chroot", "--role",
    "--command-timeout", "--type", "--other-user", "--user",
  ]
  /// sudo accepts the beginning of a long option if it is unambiguous.
  private static let shortestNonInteractive = "--non"
  private static let shortestStandardInput = "--st"

  /// The options of this process; none if its arguments cannot be read.
  public static var ofThisProcess: SudoOptions {
    CommandLineText.bytesOfThisProcess().map { SudoOptions(arguments: $0) } ?? SudoOptions()
  }

  private init() {}

  /// - Parameter arguments: the contents of `/proc/PID/cmdline`. Each argument ends with a NUL.
  init(arguments: [UInt8]) {
    let words = CommandLineText.words(of: arguments)
    var rest = words.dropFirst()
    while let word = rest.popFirst() {
      if word.hasPrefix("--") {
        if word == "--" { return }
        if word.hasPrefix(Self.shortestNonInteractive), "--non-interactive".hasPrefix(word) { asksNothing = true }
        if word.hasPrefix(Self.shortestStandardInput), "--stdin".hasPrefix(word) { readsStandardInput = true }
        if Self.longWithValue.contains(word) { rest = rest.dropFirst() }
      } else if word.hasPrefix("-"), word.utf8.count > 1 {
        if read(Array(word.utf8.dropFirst())) { rest = rest.dropFirst() }
      } else if !Self.setsVariable(word) {
        return
      }
    }
  }

  /// Reads letters up to the first one with a value. The value is the rest of the word or the next argument.
  ///
  /// - Returns: whether the value is the next argument.
  private mutating func read(_ letters: [UInt8]) -> Bool {
    for (place, letter) in letters.enumerated() {
      let isLast = place == letters.count - 1
      if letter == UInt8(ascii: "n") { asksNothing = true }
      if letter == UInt8(ascii: "S") { readsStandardInput = true }
      if Self.shortWithValue.contains(letter) { return isLast }
      // `-h` with a value is a host's name. Alone it asks for help.
      if letter == UInt8(ascii: "h"), !isLast { return false }
    }
    return false
  }

  /// Whether this is `NAME=value`, which may stand before the command and between options.
  private static func setsVariable(_ word: String) -> Bool {
    !word.hasPrefix("=") && word.utf8.contains(UInt8(ascii: "="))
  }
}
