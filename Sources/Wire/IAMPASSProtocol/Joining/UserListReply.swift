/// A page of the list of users that the service keeps for one computer: all of it, or what changed since a version.
///
/// The reply's signature covers the page, and the request's target with the requested version.
public struct UserListReply: Sendable, Equatable {
  public enum Change: Sendable, Equatable {
    /// A Unix user name, and the user's token at the service.
    case listed(name: String, token: Secret)
    case removed(name: String)

    public var name: String {
      switch self {
      case .listed(let name, _), .removed(let name): name
      }
    }
  }

  /// The most bytes of names and tokens on a page. A whole reply stays below 64 KiB.
  public static let greatestPage = 48 * 1024

  /// The id of the credential that the list is for.
  public let credential: String
  /// Grows with each change.
  public let version: Int64
  /// The version since which these are the changes; 0: the list is whole.
  public let since: Int64
  /// The number of users in the whole list at this version.
  public let count: Int64
  /// Sorted by the names' bytes.
  public let changes: [Change]
  /// Whether there is a next page. It begins after the last name here.
  public let hasMore: Bool

  public init(credential: String, version: Int64, since: Int64, count: Int64, changes: [Change], hasMore: Bool) {
    self.credential = credential
    self.version = version
    self.since = since
    self.count = count
    self.changes = changes
    self.hasMore = hasMore
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    credential = try json.text("for")
    version = try json.number("version")
    since = try json.number("since")
    count = try json.number("count")
    guard let more = json["more"]?.bool else { throw .member("more") }
    hasMore = more
    guard let lines = json["users"]?.array else { throw .member("users") }
    var changes: [Change] = []
    for line in lines {
      guard let text = line.string, let change = Change(text) else { throw .member("users") }
      changes.append(change)
    }
    self.changes = changes
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "for": .string(credential), "version": .integer(version), "since": .integer(since),
      "count": .integer(count), "more": .bool(hasMore), "users": .array(changes.map { .string($0.text) }),
    ]).encoded()
  }
}

extension UserListReply.Change {
  /// `+name:token` or `-name`.
  fileprivate init?(_ text: String) {
    let rest = text.dropFirst()
    if text.hasPrefix("-"), !rest.isEmpty {
      self = .removed(name: String(rest))
    } else if text.hasPrefix("+"), let colon = rest.firstIndex(of: ":"), colon != rest.startIndex {
      self = .listed(name: String(rest[..<colon]), token: Secret(String(rest[rest.index(after: colon)...])))
    } else {
      return nil
    }
  }

  public var text: String {
    switch self {
    case .listed(let name, let token): "+\(name):\(token.exposedValue)"
    case .removed(let name): "-\(name)"
    }
  }
}
