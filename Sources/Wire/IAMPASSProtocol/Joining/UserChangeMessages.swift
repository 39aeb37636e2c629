/// The body of `user_change`: a computer asks for a change of the service's list of users, which an administrator approves
/// on the phone (an extension of `iampass-server`).
///
/// The computer repeats the change, with the requests that the service named, until it knows the result.
public struct UserChangeRequest: Sendable, Equatable {
  public enum Act: String, Sendable, CaseIterable {
    /// Puts users on the list, or changes their groups.
    case add
    case remove
    /// Makes the link by which a user's phone registers.
    case enroll
  }

  /// The most names in one change. The phone shows all of them.
  public static let greatestUserCount = 20
  public static let greatestGroupCount = 8
  /// The most requests on administrators' phones for one change.
  public static let greatestAskCount = 5
  private static let greatestNameLength = 64

  /// 32 hexadecimal digits, drawn by the computer for this change.
  public let id: String
  public let act: Act
  /// Unix user names.
  public let users: [String]
  /// The new groups; nil: they stay as they are.
  public let groups: [String]?
  /// The Unix user who asks, according to the computer.
  public let asker: String
  /// The requests on phones that the service named; empty in the first request.
  public let asks: [String]
  /// Whether the computer no longer waits.
  public let isWithdrawn: Bool

  public init(
    id: String, act: Act, users: [String], groups: [String]? = nil, asker: String, asks: [String] = [],
    isWithdrawn: Bool = false
  ) {
    self.id = id
    self.act = act
    self.users = users
    self.groups = groups
    self.asker = asker
    self.asks = asks
    self.isWithdrawn = isWithdrawn
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    guard let act = Act(rawValue: try json.text("act")) else { throw .member("act") }
    let groups = try json.optional("groups") { (value) throws(MessageError) in try value.texts("groups") }
    self.init(
      id: try json.text("change"), act: act, users: try (json["users"] ?? .null).texts("users"), groups: groups,
      asker: try json.text("asker"), asks: try (json["asks"] ?? .array([])).texts("asks"),
      isWithdrawn: json["withdrawn"]?.bool ?? false)
    try check()
  }

  private func check() throws(MessageError) {
    guard Self.isID(id) else { throw .member("change") }
    guard (1...(act == .enroll ? 1 : Self.greatestUserCount)).contains(users.count), Self.areNames(users) else {
      throw .member("users")
    }
    guard groups == nil || act == .add, groups.map({ $0.count <= Self.greatestGroupCount && Self.areNames($0) }) ?? true
    else { throw .member("groups") }
    guard Self.isName(asker) else { throw .member("asker") }
    guard asks.count <= Self.greatestAskCount, asks.allSatisfy(Self.isID) else { throw .member("asks") }
  }

  private static func isID(_ text: String) -> Bool {
    text.utf8.count == 32
      && text.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }

  /// Whether the name is printable ASCII without spaces. On the phone it then cannot look like another name, or like
  /// two names.
  public static func isName(_ text: String) -> Bool {
    (1...greatestNameLength).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private static func areNames(_ texts: [String]) -> Bool { texts.allSatisfy(isName) }

  public func encoded() -> [UInt8] { json(asks: asks, isWithdrawn: isWithdrawn).encoded() }

  private func json(asks: [String], isWithdrawn: Bool) -> JSON {
    .object([
      "change": .string(id), "act": .string(act.rawValue), "users": .array(users.map { .string($0) }),
      "groups": groups.map { .array($0.map { .string($0) }) }, "asker": .string(asker),
      "asks": asks.isEmpty ? nil : .array(asks.map { .string($0) }), "withdrawn": isWithdrawn ? .bool(true) : nil,
    ])
  }

  /// The challenge that a phone signs. An approval counts only for this change by this computer.
  ///
  /// - Parameter credential: the id of the computer's credential.
  public func challenge(for credential: String) -> ApprovalChallenge? {
    let change = json(asks: [], isWithdrawn: false)
    let text = JSON.object([
      "purpose": .string("iampass-user-change/1"), "credential": .string(credential), "change": change,
    ]).canonicallyEncoded()
    return ApprovalChallenge(Digest.sha256(text))
  }

  /// The text that the phone shows.
  public var text: String {
    let names = users.joined(separator: ", ")
    switch act {
    case .add:
      guard let groups else { return "add \(names)" }
      return groups.isEmpty
        ? "add \(names), without groups" : "add \(names) to \(groups.joined(separator: ", "))"
    case .remove: return "remove \(names), with their phones"
    case .enroll: return "make a link that registers a phone of \(names)"
    }
  }

  /// Two digits by which the phone's user recognizes the asking terminal.
  public var code: Secret {
    let number = id.utf8.suffix(4).reduce(0) { ($0 * 31 + Int($1)) % 100 }
    return Secret((number < 10 ? "0" : "") + String(number))
  }
}

/// The service's reply to a change that it did not refuse.
public enum UserChangeReply: Sendable, Equatable {
  /// Administrators' phones were asked. Ask again with these requests.
  ///
  /// - Parameter code: two digits that the phones ask for; nil: they ask for none.
  case waiting(asks: [String], code: String?)
  /// - Parameters:
  ///   - administrator: the name of the approving administrator.
  ///   - link: the sealed registration link for the user's phone.
  case done(administrator: String, link: String?)

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    guard json["waiting"]?.bool != true else {
      let asks = try (json["asks"] ?? .null).texts("asks")
      guard !asks.isEmpty, asks.count <= UserChangeRequest.greatestAskCount else { throw .member("asks") }
      self = .waiting(asks: asks, code: json["match_code"]?.string)
      return
    }
    self = .done(administrator: try json.text("administrator"), link: json["sealed_register_url"]?.string)
  }

  public func encoded() -> [UInt8] {
    switch self {
    case .waiting(let asks, let code):
      JSON.object([
        "status": .bool(true), "waiting": .bool(true), "asks": .array(asks.map { .string($0) }),
        "match_code": code.map { .string($0) },
      ]).encoded()
    case .done(let administrator, let link):
      JSON.object([
        "status": .bool(true), "administrator": .string(administrator), "sealed_register_url": link.map { .string($0) },
      ]).encoded()
    }
  }
}

extension JSON {
  fileprivate func texts(_ name: String) throws(MessageError) -> [String] {
    guard let values = array else { throw .member(name) }
    var texts: [String] = []
    for value in values {
      guard let text = value.string else { throw .member(name) }
      texts.append(text)
    }
    return texts
  }
}
