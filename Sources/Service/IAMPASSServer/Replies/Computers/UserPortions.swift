/// Users who are added or deleted, some at a time: each portion is one step of the storage, and others have their turn
/// between two of them.
///
/// If a portion fails, what those before it did stays done, and the whole call is refused. Whoever repeats it gets on: it
/// does not mind users who are there already, or no longer.
struct UserPortions: Sequence, IteratorProtocol {
  /// Whoever signs in meanwhile waits as long as one portion takes.
  static let size = 100

  private var rest: ArraySlice<String>

  init(_ names: [String]) { rest = names[...] }

  mutating func next() -> [String]? {
    guard !rest.isEmpty else { return nil }
    defer { rest = rest.dropFirst(Self.size) }
    return Array(rest.prefix(Self.size))
  }
}
