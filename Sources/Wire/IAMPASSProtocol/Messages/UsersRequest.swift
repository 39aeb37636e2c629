/// The body of `delete_users`, and the part of `add_users` that each service reads.
public struct UsersRequest: Sendable, Equatable {
  public let users: [String]

  public init(users: [String]) { self.users = users }

  public init(parsing body: [UInt8]) throws(MessageError) {
    guard let items = try JSON.reading(body)["users"]?.array else { throw .member("users") }
    var users: [String] = []
    for item in items {
      guard let user = item.string else { throw .member("users") }
      users.append(user)
    }
    self.init(users: users)
  }

  public func encoded() -> [UInt8] {
    JSON.object(["users": .array(users.map { .string($0) })]).encoded()
  }
}
