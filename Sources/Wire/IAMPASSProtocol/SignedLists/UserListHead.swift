/// The part of an application's users that an administrator's phone signs: the digest of each list that a computer may
/// get.
public struct UserListHead: Sendable, Equatable {
  public static let purpose = "iampass-user-list/1"
  /// The greatest number of lists: one for each group, and the list of all users.
  public static let greatestListCount = 256
  /// The greatest number of users in a list. Computers refuse more.
  public static let greatestUserCount: Int64 = 100_000

  /// One list.
  public struct List: Sendable, Equatable {
    /// The group whose computers get the list; empty: the list of all users, for computers without a group.
    public let group: String
    public let count: Int64
    /// ``UserListLine/digest(of:)``.
    public let digest: [UInt8]

    public init(group: String, count: Int64, digest: [UInt8]) {
      self.group = group
      self.count = count
      self.digest = digest
    }

    fileprivate init(_ json: JSON) throws(MessageError) {
      guard let group = json["group"]?.string else { throw .member("group") }
      guard let digest = Digest.bytes(hexadecimal: try json.text("digest")) else { throw .member("digest") }
      self.init(group: group, count: try json.number("count"), digest: digest)
    }

    fileprivate var json: JSON {
      .object([
        "group": .string(group), "count": .integer(count), "digest": .string(Digest.hexadecimal(digest)),
      ])
    }

    fileprivate var isFit: Bool {
      (group.isEmpty || UserListLine.isName(group)) && digest.count == 32
        && (0...UserListHead.greatestUserCount).contains(count)
    }
  }

  /// The application's id.
  public let application: String
  /// The service's epoch when the head was made. A restored database begins a higher epoch.
  public let epoch: Int64
  /// At least 1, and grows with each head of an epoch. No number is used twice.
  public let number: Int64
  /// The digest of the set of administrators in force when the head was made. Phones of this set may sign the head.
  public let administrators: [UInt8]
  /// The digest of the last signed head before this one; empty for the first.
  public let previous: [UInt8]
  /// Sorted by group. The first is the list of all users.
  public let lists: [List]

  /// Nil for a head that no computer accepts. It lacks the list of all users, repeats a group, or has too many lists or
  /// users. Or a digest is too short, or a number is out of range.
  public init?(
    application: String, epoch: Int64, number: Int64, administrators: [UInt8], previous: [UInt8], lists: [List]
  ) {
    guard Self.isID(application), epoch >= 0, number >= 1, (1...Self.greatestListCount).contains(lists.count),
      lists.allSatisfy(\.isFit), administrators.count == 32, [0, 32].contains(previous.count)
    else { return nil }
    self.application = application
    self.epoch = epoch
    self.number = number
    self.administrators = administrators
    self.previous = previous
    self.lists = lists.sorted { $0.group.utf8.lexicographicallyPrecedes($1.group.utf8) }
    guard self.lists[0].group.isEmpty, Set(lists.map(\.group)).count == lists.count else { return nil }
  }

  /// Refuses every form except that of ``json``.
  public init(_ json: JSON) throws(MessageError) {
    guard json["purpose"]?.string == Self.purpose else { throw .member("purpose") }
    guard let items = json["lists"]?.array, items.count <= Self.greatestListCount else { throw .member("lists") }
    var lists: [List] = []
    for item in items { lists.append(try List(item)) }
    guard let administrators = Digest.bytes(hexadecimal: try json.text("administrators")) else {
      throw .member("administrators")
    }
    guard let previous = Digest.bytes(hexadecimal: json["previous"]?.string ?? "-") else { throw .member("previous") }
    guard
      let head = UserListHead(
        application: try json.text("application"), epoch: try json.number("epoch"), number: try json.number("number"),
        administrators: administrators, previous: previous, lists: lists)
    else { throw .member("lists") }
    self = head
    guard json.isSpelled(as: self.json) else { throw .member("lists") }
  }

  public var json: JSON {
    .object([
      "purpose": .string(Self.purpose), "application": .string(application), "epoch": .integer(epoch),
      "number": .integer(number), "administrators": .string(Digest.hexadecimal(administrators)),
      "previous": .string(Digest.hexadecimal(previous)), "lists": .array(lists.map(\.json)),
    ])
  }

  /// 32 bytes.
  public var digest: [UInt8] { Digest.sha256(json.canonicallyEncoded()) }

  /// Whether this has a higher version than another head of the application.
  public func isHigher(than other: UserListHead) -> Bool { (epoch, number) > (other.epoch, other.number) }

  /// Whether this may be the head after `former`; nil: the first one. Does not check who signed it.
  public func follows(_ former: UserListHead?) -> Bool {
    guard let former else { return previous.isEmpty }
    return application == former.application && isHigher(than: former) && Digest.areEqual(previous, former.digest)
  }

  /// The list for computers of this group. A group that the head does not name has an empty list.
  public func list(of group: String) -> List {
    lists.first { $0.group.utf8.elementsEqual(group.utf8) } ?? List(group: group, count: 0, digest: Digest.sha256([]))
  }

  /// Whether this may be an application's id: printable ASCII, at most 128 bytes.
  package static func isID(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
