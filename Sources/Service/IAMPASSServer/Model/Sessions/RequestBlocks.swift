/// The blocks that keep requests from a user's phone.
public struct RequestBlocks: Sendable, Equatable {
  /// Denials that may still count: see ``Denials``. Fewer than ``Denials/greatestCount`` do not block.
  public let denials: Int
  /// The number of sources that the user has reported as somebody else.
  public let reportedSources: Int

  public var isEmpty: Bool { denials == 0 && reportedSources == 0 }
}
