/// How long a phone has for its answer: `approval_timeout` of `iampass.conf`, and `timeout=` of a PAM line.
public enum ApprovalTimeout {
  /// Seconds. Longer than a slow network's first answer, shorter than sshd's LoginGraceTime of 120 s.
  public static let bounds: ClosedRange<Int64> = 5...90
  /// The bounds in words, for a message about another value.
  public static let takes = "a duration from 5s to 90s"

  /// Seconds; nil for what is not a duration, and for one outside the bounds.
  public static func seconds(_ text: String) -> Int64? {
    TimeSpan.seconds(text).flatMap { bounds.contains($0) ? $0 : nil }
  }
}
