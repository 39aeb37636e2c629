/// Options by which a locker runs and leaves the screen open.
enum LockerOptions {
  /// gtklock 2 has two options for those who write its styles. It is then a window like any other, or other programs
  /// still get the keys. gtklock 3 does not know them, and ends.
  private static let harmless: (long: Set<String>, short: Set<Character>) = (
    ["--no-layer-shell", "--no-input-inhibit"], ["l", "i"]
  )
  /// gtklock's options with a value, which may follow in the same word.
  private static let valued: Set<Character> = ["b", "c", "D", "g", "L", "m", "M", "s", "t", "T", "U", "x"]

  /// Whether a locker with these options locks the screen.
  ///
  /// - Parameters:
  ///   - name: the locker's name.
  ///   - arguments: the contents of `/proc/PID/cmdline`. Each argument ends with a NUL.
  static func lock(_ name: String, arguments: [UInt8]) -> Bool {
    guard name == "gtklock" else { return true }
    return !arguments.split(separator: 0).dropFirst().contains { leavesOpen(String(decoding: $0, as: UTF8.self)) }
  }

  private static func leavesOpen(_ word: String) -> Bool {
    guard word.hasPrefix("-"), !word.hasPrefix("--") else { return harmless.long.contains(word) }
    // Options without a value may share a word, as in `-di`.
    return word.dropFirst().prefix { !valued.contains($0) }.contains { harmless.short.contains($0) }
  }
}
