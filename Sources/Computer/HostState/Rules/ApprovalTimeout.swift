/// How long a phone has for its answer: `approval_timeout` of `iampass.conf`, and `timeout=` of a PAM line.
public enum ApprovalTimeout {
  /// The valid times in seconds. They are longer than a slow network's first answer, shorter than sshd's LoginGraceTime
  /// of 120 s.
  public static let bounds: ClosedRange<Int64> = 5...90
  /// The bounds in words, for an error message.
  public static let takes = "a duration from 5s to 90s"

  /// The time in seconds; nil if it is not a duration, or is outside the bounds.
  public static func seconds(_ text: String) -> Int64? {
    TimeSpan.seconds(text).flatMap { bounds.contains($0) ? $0 : nil }
  }
}
