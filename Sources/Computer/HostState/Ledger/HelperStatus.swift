/// The line by which `iampass-helper` tells systemd how it is. `iampassctl check` reads it.
public enum HelperStatus {
  private static let watches = "watching "
  private static let former = "by the former configuration "

  /// - Parameters:
  ///   - count: the number of watched sessions; nil if no configuration is in force.
  ///   - seconds: since the service's last answer; nil before the first.
  ///   - complaint: why the present configuration is not usable; empty if it is in force.
  public static func line(watching count: Int?, lastAnswer seconds: Int64?, complaint: String) -> String {
    guard let count else { return complaint.isEmpty ? "not set up" : complaint }
    let answer = seconds.map { "last answer \($0) s ago" } ?? "no answer yet"
    let watching = "\(watches)\(count) sessions, \(answer)"
    return complaint.isEmpty ? watching : "\(former)\(watching); the present one is not usable: \(complaint)"
  }

  /// Whether sessions are watched by the present configuration, as far as the line tells; true if it is empty.
  public static func isWell(_ line: String) -> Bool { line.isEmpty || line.hasPrefix(watches) }

  /// Whether sessions are watched, if by a former configuration.
  public static func isWatching(_ line: String) -> Bool { line.hasPrefix(watches) || line.hasPrefix(former) }
}
