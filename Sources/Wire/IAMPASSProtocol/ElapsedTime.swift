/// How long ago something was, for people.
public enum ElapsedTime {
  private static let minute: Int64 = 60
  private static let hour: Int64 = 3_600
  private static let day: Int64 = 86_400

  /// Such as `5 min`, `2 h` or `3 d`, rounded down, and one minute at least.
  public static func words(seconds: Int64) -> String {
    switch seconds {
    case ..<(2 * hour): "\(max(1, seconds / minute)) min"
    case ..<(2 * day): "\(seconds / hour) h"
    default: "\(seconds / day) d"
    }
  }
}
