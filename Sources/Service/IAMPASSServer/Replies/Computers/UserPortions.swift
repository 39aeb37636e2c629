/// Adds or deletes users in portions. Each portion is one transaction, and other operations have their turn between two
/// of them.
///
/// If a portion fails, earlier portions stay, and the whole call is refused. The client can repeat it: users who are
/// already added or deleted are not an error.
struct UserPortions: Sequence, IteratorProtocol {
  /// The users in one portion. Sign-ins wait as long as one portion takes.
  static let size = 100

  private var rest: ArraySlice<String>

  init(_ names: [String]) { rest = names[...] }

  mutating func next() -> [String]? {
    guard !rest.isEmpty else { return nil }
    defer { rest = rest.dropFirst(Self.size) }
    return Array(rest.prefix(Self.size))
  }
}
