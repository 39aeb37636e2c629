/// Sources from which a user's phone is not asked for a while: the user said that it was somebody else.
///
/// Blocked are the user and the source together: the user's other ways in, and others on that host, go on.
enum SourceBlock {
  /// Seconds.
  static let lifetime: Int64 = 900
}
