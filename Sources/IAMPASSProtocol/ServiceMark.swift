/// Where a service stands in its own history (an addition of `iampass-server`): the member `mark` of its signed replies.
///
/// A service that was put back to an earlier state does not know what happened since, and must not be believed when it
/// says that a session is over. Within an epoch the counter grows with each change of a session; a restored copy of the
/// database begins a higher epoch.
public struct ServiceMark: Sendable, Equatable {
  /// At least 0.
  public let epoch: Int64
  /// At least 0.
  public let counter: Int64

  private static let name = "mark"

  public init(epoch: Int64, counter: Int64) {
    self.epoch = epoch
    self.counter = counter
  }

  /// The mark of a reply's body; nil if it has no mark, as the replies of other services.
  public init?(in body: [UInt8]) {
    guard let json = try? JSON(parsing: body) else { return nil }
    self.init(ofReply: json)
  }

  init?(ofReply reply: JSON) {
    guard let epoch = reply[Self.name]?["epoch"]?.integer, let counter = reply[Self.name]?["counter"]?.integer,
      epoch >= 0, counter >= 0
    else { return nil }
    self.init(epoch: epoch, counter: counter)
  }

  /// Whether a service with this mark still knows all that it knew when it had the `earlier` one.
  ///
  /// Replies may overtake each other: compare with the mark of a reply that came before this reply's request was sent.
  public func continues(_ earlier: ServiceMark) -> Bool { epoch == earlier.epoch && counter >= earlier.counter }

  /// A reply's body with this mark as its last member. What is no JSON object is returned as it is.
  public func added(to body: [UInt8]) -> [UInt8] {
    guard case .object(let members) = try? JSON(parsing: body) else { return body }
    let mark: JSON = .object(["epoch": .integer(epoch), "counter": .integer(counter)])
    return JSON.object(members + [JSON.Member(Self.name, mark)]).encoded()
  }
}
