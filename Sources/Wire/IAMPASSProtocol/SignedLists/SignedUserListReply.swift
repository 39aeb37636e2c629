/// A set of administrators, with the signature of a key of the previous set.
public struct SignedAdministratorSet: Sendable, Equatable {
  public let set: AdministratorSet
  /// Nil only for the first set.
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
/// While there are sets of administrators after number M, a reply contains only sets. The computer asks again with the
/// last set's number.
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

  /// The most bytes on a page: of sets, or of changes with what precedes them on the first page. A page always has at
  /// least one of them. A whole reply stays below 64 KiB.
  public static let greatestPage = 32 * 1024
  /// The most sets in a reply.
  public static let greatestSetCount = 64
  /// The most bytes of ``formerSets``, which reduce the room for changes.
  public static let greatestFormerSets = 24 * 1024
  /// The most bytes of ``head``, ``proof`` and ``formerSets`` together. They leave room for a change.
  public static let greatestBeginning = 56 * 1024

  /// The id of the credential that the list is for.
  public let credential: String
  /// The head's epoch. It and ``number`` are 0 until an administrator of the set in force has signed a list.
  public let epoch: Int64
  public let number: Int64
  /// The number, in the requested epoch, since which these are the changes; 0: the list is whole.
  public let since: Int64
  /// Sorted by the names' bytes.
  public let changes: [Change]
  /// Whether there is a next page. It begins after the last name here.
  public let hasMore: Bool
  /// Only on the first page of a list that the computer does not have; otherwise nil.
  public let head: UserListHead?
  public let proof: DocumentProof?
  /// If the head names an earlier set of administrators, the sets from that one to the one before the set in force;
  /// otherwise empty.
  public let formerSets: [AdministratorSet]
  /// The sets after the requested one, in order. A reply with sets has no other content.
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

  /// A reply that contains only sets.
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
  /// The sets of a member; empty if the member is missing.
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

  /// Contains the user's token.
  public var text: String {
    switch self {
    case .listed(let line): "+" + String(decoding: line.json.canonicallyEncoded(), as: UTF8.self)
    case .removed(let name): "-" + name
    }
  }
}
