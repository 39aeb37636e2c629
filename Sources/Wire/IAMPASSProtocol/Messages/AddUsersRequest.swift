/// The body of `add_users`: users, and optionally what people call them.
///
/// `names` is an addition of ours to the published contract. A service that does not know it reads `users` alone.
public struct AddUsersRequest: Sendable, Equatable {
  /// What people call a user. It identifies nobody.
  public struct Name: Sendable, Equatable {
    /// The greatest length of ``text`` in characters.
    public static let greatestLength = 200

    /// The user's id.
    public let user: String
    /// Empty: the service forgets the name that it knows.
    public let text: String

    public init(user: String, text: String) {
      self.user = user
      self.text = text
    }

    /// Whether a reader sees the whole name: nothing in it is invisible, moves its neighbours, or is a space at an end.
    public var isFit: Bool {
      let scalars = text.unicodeScalars
      guard let first = scalars.first, let last = scalars.last else { return true }
      return scalars.count <= Self.greatestLength && DisplayText.sanitized(text, limit: Self.greatestLength) == text
        && !first.properties.isWhitespace && !last.properties.isWhitespace
    }
  }

  public let users: [String]
  /// A user without a name here keeps the one that the service knows.
  public let names: [Name]

  public init(users: [String], names: [Name] = []) {
    self.users = users
    self.names = names
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let users = try UsersRequest(parsing: body).users
    switch try JSON.reading(body)["names"] {
    case nil, .null: self.init(users: users)
    case .object(let members):
      var names: [Name] = []
      for member in members {
        guard let text = member.value.string else { throw .member("names") }
        names.append(Name(user: member.name, text: text))
      }
      self.init(users: users, names: names)
    default: throw .member("names")
    }
  }

  public func encoded() -> [UInt8] {
    let named = names.map { JSON.Member($0.user, .string($0.text)) }
    return JSON.object([
      "users": .array(users.map { .string($0) }), "names": named.isEmpty ? nil : .object(named),
    ]).encoded()
  }
}
