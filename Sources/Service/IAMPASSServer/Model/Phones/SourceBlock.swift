import IAMPASSProtocol

/// Sources from which a user's phone is not asked for a while, because the user said that it was somebody else.
///
/// The block is for this user and this source. Other sources of the user, and other users of the source, are not
/// blocked.
enum SourceBlock {
  /// How long a block lasts, in seconds.
  static let lifetime: Int64 = 900
  /// The most bytes of a source that is stored unchanged. PostgreSQL's indices refuse rows of 2,704 bytes.
  private static let greatestLength = 1_000

  /// The stored key of a source: the source, or its digest if it is longer. A source is JSON and a digest is not, so
  /// they cannot be confused.
  static func key(of source: String) -> String {
    source.utf8.count <= greatestLength ? source : "sha256 " + Digest.hexadecimal(Digest.sha256(Array(source.utf8)))
  }
}
