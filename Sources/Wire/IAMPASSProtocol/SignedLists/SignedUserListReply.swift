/// A set of administrators with what a key of the set before signed.
public struct SignedAdministratorSet: Sendable, Equatable {
  public let set: AdministratorSet
  /// Nil for the first set alone.
  public let proof: DocumentProof?

  public init(set: AdministratorSet, proof: DocumentProof?) {
    self.set = set
    self.proof = proof
  }

  /// Reads ``json``.
  public init(_ json: JSON) throws(MessageError) {
    set = try AdministratorSet(json["set"] ?? .null)
    proof = try json.optional("proof", DocumentProof.init)
    guard proof != nil || set.number == 1 else { throw .member("proof") }
  }

  public var json: JSON { .object(["set": set.json, "proof": proof?.json ?? .null]) }
}

/// A page of the signed list of users for one computer: `users?signed=1&version=N&epoch=E&administrators=M&after=NAME`.
///
/// While there are sets of administrators after number M, a reply has nothing but sets: the computer asks again with the
/// number of the last one.
public struct SignedUserListReply: Sendable, Equatable {
  public enum Change: Sendable, Equatable {
    case listed(UserListLine)
    case removed(name: String)

    public var name: String {
      switch self {
      case .listed(let line): line.name
      case .removed(let name): name
      }
    }
  }

  /// Bytes on a page: of sets; or of changes, with what stands before them on the first page. A page has one of them in any
  /// case. A whole reply stays below 64 KiB.
  public static let greatestPage = 32 * 1024
  /// Sets in a reply.
  public static let greatestSetCount = 64
  /// Bytes of ``formerSets``, which take the place of changes.
  public static let greatestFormerSets = 24 * 1024
  /// Bytes of ``head``, ``proof`` and ``formerSets`` together, which leave room for a change.
  public static let greatestBeginning = 56 * 1024

  /// The id of the credential that the list is for.
  public let credential: String
  /// The head's; 0, with ``number``, as long as no list is signed by an administrator of the set in force.
  public let epoch: Int64
  public let number: Int64
  /// The number, in the epoch that was asked for, that the changes are since; 0: the list is whole.
  public let since: Int64
  /// By their names' bytes.
  public let changes: [Change]
  /// Whether the next page begins after the last name here.
  public let hasMore: Bool
  /// On the first page of a list that the computer does not have; nil on the others.
  public let head: UserListHead?
  public let proof: DocumentProof?
  /// Beside a head that names an earlier set of administrators than the one in force: the sets from that one to the one
  /// before it.
  public let formerSets: [AdministratorSet]
  /// The sets after the one that was asked for, in their order; without any other content.
  public let administrators: [SignedAdministratorSet]

  public init(
    credential: String, epoch: Int64, number: Int64, since: Int64, changes: [Change], hasMore: Bool,
    head: UserListHead?, proof: DocumentProof?, formerSets: [AdministratorSet] = [],
    administrators: [SignedAdministratorSet] = []
  ) {
    self.credential = credential
    self.epoch = epoch
    self.number = number
    self.since = since
    self.changes = changes
    self.hasMore = hasMore
    self.head = head
    self.proof = proof
    self.formerSets = formerSets
    self.administrators = administrators
  }

  /// Sets alone.
  public init(credential: String, administrators: [SignedAdministratorSet]) {
    self.init(
      credential: credential, epoch: 0, number: 0, since: 0, changes: [], hasMore: false, head: nil, proof: nil,
      administrators: administrators)
  }

  public init(parsing body: [UInt8]) throws(MessageError) {
    let json = try JSON.acknowledged(body)
    credential = try json.text("for")
    epoch = try json.number("epoch")
    number = try json.number("version")
    since = try json.number("since")
    guard let more = json["more"]?.bool else { throw .member("more") }
    hasMore = more
    head = try json.optional("head", UserListHead.init)
    proof = try json.optional("proof", DocumentProof.init)
    guard let items = json["users"]?.array else { throw .member("users") }
    var changes: [Change] = []
    for item in items {
      guard let text = item.string else { throw .member("users") }
      changes.append(try Change(text))
    }
    self.changes = changes
    formerSets = try json.sets("former_sets", AdministratorSet.init)
    administrators = try json.sets("administrators", SignedAdministratorSet.init)
    guard epoch >= 0, number >= 0, since >= 0, (head == nil) == (proof == nil) else { throw .member("head") }
    if let head { guard head.epoch == epoch, head.number == number else { throw .contradiction("version") } }
  }

  public func encoded() -> [UInt8] {
    JSON.object([
      "status": .bool(true), "for": .string(credential), "epoch": .integer(epoch), "version": .integer(number),
      "since": .integer(since), "more": .bool(hasMore), "head": head?.json, "proof": proof?.json,
      "former_sets": formerSets.isEmpty ? nil : .array(formerSets.map(\.json)),
      "users": .array(changes.map { .string($0.text) }),
      "administrators": administrators.isEmpty ? nil : .array(administrators.map(\.json)),
    ]).encoded()
  }
}

extension JSON {
  /// None if the member is missing.
  fileprivate func sets<One>(
    _ name: String, _ read: (JSON) throws(MessageError) -> One
  ) throws(MessageError) -> [One] {
    guard let items = (self[name] ?? .array([])).array, items.count <= SignedUserListReply.greatestSetCount else {
      throw .member(name)
    }
    var sets: [One] = []
    for item in items { sets.append(try read(item)) }
    return sets
  }
}

extension SignedUserListReply.Change {
  /// `+` and the line as JSON, or `-name`.
  fileprivate init(_ text: String) throws(MessageError) {
    let rest = String(text.dropFirst())
    if text.hasPrefix("-"), UserListLine.isName(rest) {
      self = .removed(name: rest)
    } else if text.hasPrefix("+") {
      self = .listed(try UserListLine(try JSON.reading(Array(rest.utf8))))
    } else {
      throw .member("users")
    }
  }

  /// It holds the user's token.
  public var text: String {
    switch self {
    case .listed(let line): "+" + String(decoding: line.json.canonicallyEncoded(), as: UTF8.self)
    case .removed(let name): "-" + name
    }
  }
}
