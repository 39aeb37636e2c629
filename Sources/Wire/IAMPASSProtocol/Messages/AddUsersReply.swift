/// The reply of `add_users`.
public struct AddUsersReply: Sendable, Equatable {
  public let created: [String]
  public let existing: [String]

  public init(created: [String], existing: [String]) {
    self.created = created
    self.existing = existing
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    guard let users = json["users"] else { throw .member("users") }
    func names(_ name: String) throws(MessageError) -> [String] {
      guard let value = users[name], value != .null else { return [] }
      guard let items = value.array else { throw .member(name) }
      return items.compactMap(\.string)
    }
    self.init(created: try names("created"), existing: try names("existing"))
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true),
      "users": .object([
        "created": .array(created.map { .string($0) }), "existing": .array(existing.map { .string($0) }),
      ]),
    ]).encoded()
  }
}
