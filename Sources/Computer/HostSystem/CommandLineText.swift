import Glibc

/// A program's command line, for people to read.
public enum CommandLineText {
  /// The kernel takes at most 6 MiB of arguments (execve(2)).
  private static let greatestSize = 16 * 1_024 * 1_024
  private static let usualSize = 4_096

  /// Nil if the command line cannot be read completely.
  public static func ofThisProcess() -> String? { bytesOfThisProcess().map(text(of:)) }

  /// `/proc/self/cmdline`, never empty: each argument ends with a NUL. Nil if they cannot be read completely.
  static func bytesOfThisProcess() -> [UInt8]? {
    var size = usualSize
    while let bytes = ProcessFile.read("/proc/self/cmdline", limit: size) {
      if bytes.count < size { return bytes.isEmpty ? nil : bytes }
      guard size < greatestSize else { return nil }
      size *= 16
    }
    return nil
  }

  /// The arguments, separated by single spaces. An argument with spaces or quotes is quoted for a shell: `sh -c 'a b'`
  /// and `sh -c a b` are two commands.
  ///
  /// The first word is quoted too, because the caller chooses it (execve(2)). A `su` without arguments, which starts
  /// root's shell, can be named `su -c reboot`.
  ///
  /// - Parameter bytes: the contents of `/proc/PID/cmdline`. Each argument ends with a NUL.
  static func text(of bytes: [UInt8]) -> String {
    var words = words(of: bytes)
    // Programs that overwrite their arguments (`sshd: alice [priv]`) fill the rest with NULs.
    if let title = words.first, title.utf8.contains(UInt8(ascii: " ")), words.dropFirst().allSatisfy(\.isEmpty) {
      words = [title]
    }
    return words.map(quoted).joined(separator: " ")
  }

  /// The program's name and each argument.
  static func words(of bytes: [UInt8]) -> [String] {
    let ended = bytes.last == 0 ? bytes.dropLast() : bytes[...]
    return ended.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func quoted(_ word: String) -> String {
    let needsQuotes = word.unicodeScalars.contains {
      $0.properties.isWhitespace || $0 == "'" || $0 == "\"" || $0 == "\\"
    }
    guard needsQuotes || word.isEmpty else { return word }
    let parts = word.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
  }
}
