/// The options of a program like sudo(8), as far as they matter here.
public enum SudoOptions {
  /// Those that take their value from the next argument, in sudo and sudo-rs.
  private static let shortWithValue = Array("aCcDgpRrTtUu".utf8)
  private static let longWithValue = [
    "--auth-type", "--close-from", "--login-class", "--chdir", "--group", "--host", "--prompt", "--chroot", "--role",
    "--command-timeout", "--type", "--other-user", "--user",
  ]
  /// sudo takes a long option's beginning that no other option has.
  private static let shortestNonInteractive = "--non"

  /// Whether this process was called so that it asks its user nothing: `-n`, before the command. False also if its
  /// arguments cannot be read.
  public static var thisProcessAsksNothing: Bool { CommandLineText.bytesOfThisProcess().map(askNothing) ?? false }

  /// - Parameter bytes: of `/proc/PID/cmdline`: each argument ends with a NUL.
  static func askNothing(_ bytes: [UInt8]) -> Bool {
    let words = bytes.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    var rest = words.dropFirst()
    while let word = rest.popFirst() {
      if word.hasPrefix("--") {
        if word == "--" { return false }
        if word.hasPrefix(shortestNonInteractive), "--non-interactive".hasPrefix(word) { return true }
        if longWithValue.contains(word) { rest = rest.dropFirst() }
      } else if word.hasPrefix("-"), word.utf8.count > 1 {
        switch look(Array(word.utf8.dropFirst())) {
        case .asksNothing: return true
        case .takesNext: rest = rest.dropFirst()
        case .other: break
        }
      } else if !setsVariable(word) {
        return false
      }
    }
    return false
  }

  private enum Letters { case asksNothing, takesNext, other }

  /// Letters up to the first that has a value, which is the word's rest or the next argument.
  private static func look(_ letters: [UInt8]) -> Letters {
    for (place, letter) in letters.enumerated() {
      if letter == UInt8(ascii: "n") { return .asksNothing }
      if shortWithValue.contains(letter) { return place == letters.count - 1 ? .takesNext : .other }
      // A host's name; alone, it is help.
      if letter == UInt8(ascii: "h"), place < letters.count - 1 { return .other }
    }
    return .other
  }

  /// `NAME=value` may stand before the command, and between options.
  private static func setsVariable(_ word: String) -> Bool {
    !word.hasPrefix("=") && word.utf8.contains(UInt8(ascii: "="))
  }
}
