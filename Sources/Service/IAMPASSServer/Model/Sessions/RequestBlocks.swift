/// What keeps some requests from a user's phone.
public struct RequestBlocks: Sendable, Equatable {
  /// Denials that may still count: see ``Denials``. Fewer than three block nothing.
  public let denials: Int
  /// Sources of which the user said that it was somebody else.
  public let reportedSources: Int

  public var isEmpty: Bool { denials == 0 && reportedSources == 0 }
}
