import HostState
import HostSystem

/// swaylock's setting by which Enter alone asks neither PAM nor the phone.
public enum EmptyPasswordFinding {
  /// The file for users without their own, as in swaylock(1).
  public static let path = "/etc/swaylock/config"
  private static let setting = "ignore-empty-password"
  /// Bytes. A configuration has a few lines.
  private static let greatestSize = 64 * 1024

  /// - Parameter services: the services of this computer that may ask the phone.
  static func finding(_ services: [String]) -> Finding? {
    finding(services, text: ProcessFile.read(path, limit: greatestSize) ?? [])
  }

  /// - Parameter text: the content of the file at ``path``.
  public static func finding(_ services: [String], text: [UInt8]) -> Finding? {
    let lines = text.split(separator: UInt8(ascii: "\n"))
    guard services.contains("swaylock"), lines.contains(where: { $0.elementsEqual(setting.utf8) }) else { return nil }
    return Finding(
      .warning, .configuration, "\(path) has \(setting): Enter alone does not ask the phone at swaylock",
      hint: "remove the line")
  }
}
