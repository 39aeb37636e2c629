import IAMPASSProtocol

/// Sources from which a user's phone is not asked for a while: the user said that it was somebody else.
///
/// Blocked are the user and the source together: the user's other ways in, and others on that host, go on.
enum SourceBlock {
  /// Seconds.
  static let lifetime: Int64 = 900
  /// Bytes of a source that is kept as it is. PostgreSQL's indices refuse rows of 2,704 bytes.
  private static let greatestLength = 1_000

  /// What a source is kept under: itself, or the digest of a longer one. A source is JSON, and no digest is.
  static func key(of source: String) -> String {
    source.utf8.count <= greatestLength ? source : "sha256 " + Digest.hexadecimal(Digest.sha256(Array(source.utf8)))
  }
}
