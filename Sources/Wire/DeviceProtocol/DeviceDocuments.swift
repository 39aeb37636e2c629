import IAMPASSProtocol

// `POST /device/v1/document`: an administrator's phone fetches what it is to sign, in pages.

/// Asks for a page of the document that a request names.
public struct DocumentAsk: Sendable, Equatable {
  /// The greatest length of ``after`` in bytes.
  public static let greatestCursor = 200

  public let ask: DeviceAsk
  /// The request's id.
  public let session: String
  /// The number of the last set that this phone knows (member `administrators`); 0 if it knows none.
  public let knownSet: Int64
  /// Empty for the first page, then ``DocumentPage/next`` of the page before.
  public let after: String

  public init(ask: DeviceAsk, session: String, knownSet: Int64, after: String) {
    self.ask = ask
    self.session = session
    self.knownSet = knownSet
    self.after = after
  }

  public init(_ json: JSON) throws(MessageError) {
    ask = try DeviceAsk(json)
    session = try json.text("session")
    knownSet = try json.number("administrators")
    guard knownSet >= 0 else { throw .member("administrators") }
    guard let after = json["after"]?.string, after.utf8.count <= Self.greatestCursor else { throw .member("after") }
    self.after = after
  }

  public var json: JSON {
    ask.json(with: [
      "session": .string(session), "administrators": .integer(knownSet), "after": .string(after),
    ])
  }
}

/// A page of a document. The phone appends the parts of all pages, and trusts nothing before their digests match.
public struct DocumentPage: Sendable, Equatable {
  /// A user of the list, with the groups whose lists have the user.
  public struct Entry: Sendable, Equatable {
    public let line: UserListLine
    /// Sorted by bytes.
    public let groups: [String]

    /// - Parameter groups: without repetition.
    public init(line: UserListLine, groups: [String]) {
      self.line = line
      self.groups = groups.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Refuses every other spelling than ``json``'s.
    init(_ json: JSON) throws(MessageError) {
      guard case .object(let members) = json, let items = json["groups"]?.array,
        items.count <= UserListHead.greatestListCount
      else { throw .member("groups") }
      line = try UserListLine(.object(members.filter { $0.name != "groups" }))
      groups = items.compactMap(\.string)
      guard groups.count == items.count, groups.allSatisfy(UserListLine.isName),
        zip(groups, groups.dropFirst()).allSatisfy({ $0.utf8.lexicographicallyPrecedes($1.utf8) })
      else { throw .member("groups") }
    }

    /// Contains the user's token.
    public var json: JSON {
      guard case .object(let members) = line.json else { preconditionFailure("a line is an object") }
      return .object(members + [JSON.Member("groups", .array(groups.map { .string($0) }))])
    }
  }

  /// The newest list that an administrator signed.
  public struct Former: Sendable, Equatable {
    public let head: UserListHead
    public let proof: DocumentProof

    public init(head: UserListHead, proof: DocumentProof) {
      self.head = head
      self.proof = proof
    }

    init(_ json: JSON) throws(MessageError) {
      head = try UserListHead(json["head"] ?? .null)
      proof = try DocumentProof(json["proof"] ?? .null)
    }

    var json: JSON { .object(["head": head.json, "proof": proof.json]) }
  }

  /// `head` or `set`, only on the first page.
  public let document: SignedDocument?
  /// Only on the first page; nil if no list was ever signed.
  public let former: Former?
  /// Without gaps, up to the set in force.
  public let sets: [SignedAdministratorSet]
  /// The whole new list, sorted by name.
  public let entries: [Entry]
  /// Entries of the former list that the new one lacks, or has in another form.
  public let other: [Entry]
  /// Names in the new list that the former one lacks.
  public let new: [String]
  /// The ``DocumentAsk/after`` of the next ask; nil on the last page.
  public let next: String?

  public init(
    document: SignedDocument? = nil, former: Former? = nil, sets: [SignedAdministratorSet] = [],
    entries: [Entry] = [], other: [Entry] = [], new: [String] = [], next: String? = nil
  ) {
    self.document = document
    self.former = former
    self.sets = sets
    self.entries = entries
    self.other = other
    self.new = new
    self.next = next
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.reading(body)
    let head = try json.optional("head", UserListHead.init)
    let set = try json.optional("set", AdministratorSet.init)
    guard head == nil || set == nil else { throw .contradiction("set") }
    document = head.map(SignedDocument.users) ?? set.map(SignedDocument.administrators)
    former = try json.optional("former", Former.init)
    sets = try json.all("sets", SignedAdministratorSet.init)
    entries = try json.all("entries", Entry.init)
    other = try json.all("other", Entry.init)
    new = try json.all("new") { (item) throws(MessageError) in
      guard let name = item.string, UserListLine.isName(name) else { throw .member("new") }
      return name
    }
    next = try json.optional("next") { (value) throws(MessageError) in
      guard let text = value.string, (1...DocumentAsk.greatestCursor).contains(text.utf8.count) else {
        throw .member("next")
      }
      return text
    }
  }

  /// Contains users' tokens.
  public func encoded() -> [UInt8] {
    var members: [JSON.Member] = [JSON.Member("status", .bool(true))]
    switch document {
    case .users(let head): members += [JSON.Member("head", head.json), JSON.Member("former", former?.json ?? .null)]
    case .administrators(let set): members.append(JSON.Member("set", set.json))
    case nil: break
    }
    let parts = [
      ("sets", sets.map(\.json)), ("entries", entries.map(\.json)), ("other", other.map(\.json)),
      ("new", new.map { .string($0) }),
    ]
    members += parts.filter { !$0.1.isEmpty }.map { JSON.Member($0.0, .array($0.1)) }
    members.append(JSON.Member("next", next.map { .string($0) } ?? .null))
    return JSON.object(members).encoded()
  }
}

extension JSON {
  /// The items of an array, in their order; none if the member is missing.
  fileprivate func all<Item>(
    _ name: String, _ read: (JSON) throws(MessageError) -> Item
  ) throws(MessageError) -> [Item] {
    guard let value = self[name] else { return [] }
    guard let items = value.array else { throw .member(name) }
    var found: [Item] = []
    for item in items { found.append(try read(item)) }
    return found
  }
}
