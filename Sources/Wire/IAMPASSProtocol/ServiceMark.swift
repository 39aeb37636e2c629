/// A service's position in its own history: the member `mark` of its signed replies (an extension of `iampass-server`).
///
/// A service that was restored from a backup does not know its later sessions. A host must not believe such a service
/// when it says that a session has ended. The counter grows within an epoch with each change of a session. A restored
/// copy of the database begins a higher epoch.
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

  /// The mark of a reply's body; nil without one, as from other services.
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

  /// Whether a service with this mark still knows everything that it knew at the `earlier` mark.
  ///
  /// Replies may overtake each other. Compare only with a mark that arrived before this reply's request was sent.
  public func continues(_ earlier: ServiceMark) -> Bool { epoch == earlier.epoch && counter >= earlier.counter }

  /// A reply's body with this mark as its last member. A body that is not a JSON object is returned unchanged.
  public func added(to body: [UInt8]) -> [UInt8] {
    guard case .object(let members) = try? JSON(parsing: body) else { return body }
    let mark: JSON = .object(["epoch": .integer(epoch), "counter": .integer(counter)])
    return JSON.object(members + [JSON.Member(Self.name, mark)]).encoded()
  }
}
