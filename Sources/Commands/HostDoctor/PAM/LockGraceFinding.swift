import HostSystem

/// A setting of swaylock-effects, a variant of swaylock: for some time after the lock, a key or the mouse opens the
/// screen. Nobody is asked. The helper takes such a screen for locked, because the locker runs.
public enum LockGraceFinding {
  private static let setting = "grace="
  /// Bytes. A configuration has a few lines.
  private static let greatestSize = 64 * 1024

  /// - Parameter services: the PAM services of this computer.
  static func finding(_ services: [String]) -> Finding? {
    finding(services, text: ProcessFile.read(EmptyPasswordFinding.path, limit: greatestSize) ?? [])
  }

  /// - Parameter text: the content of swaylock's file for users without their own. The last line of a kind counts.
  public static func finding(_ services: [String], text: [UInt8]) -> Finding? {
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    guard services.contains("swaylock"), let last = lines.last(where: { $0.hasPrefix(setting) }),
      Double(last.dropFirst(setting.count)) != 0
    else { return nil }
    return Finding(
      .warning, .configuration,
      "\(EmptyPasswordFinding.path) has \(last): anybody opens the screen in these seconds after swaylock has begun",
      hint: "remove the line")
  }
}
