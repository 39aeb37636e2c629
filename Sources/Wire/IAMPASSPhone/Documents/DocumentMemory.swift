import IAMPASSProtocol

/// The newest signed documents that a phone knows. It accepts nothing older.
public struct DocumentMemory: Sendable, Equatable {
  /// The greatest number of applications. A service has few. Further ones are not remembered.
  private static let greatestListCount = 256

  /// A list of users.
  public struct List: Sendable, Equatable {
    public let epoch: Int64
    public let number: Int64
    public let digest: [UInt8]

    init(_ head: UserListHead) {
      epoch = head.epoch
      number = head.number
      digest = head.digest
    }

    fileprivate init?(_ json: JSON) {
      guard let epoch = json["epoch"]?.integer, let number = json["number"]?.integer,
        let digest = json["digest"]?.string.flatMap(Digest.bytes(hexadecimal:))
      else { return nil }
      self.epoch = epoch
      self.number = number
      self.digest = digest
    }

    fileprivate var json: JSON {
      .object(["epoch": .integer(epoch), "number": .integer(number), "digest": .string(Digest.hexadecimal(digest))])
    }

    /// "EPOCH.NUMBER".
    var version: String { "\(epoch).\(number)" }

    /// Whether this is the list `head`, or has a lower version.
    func isReached(by head: UserListHead) -> Bool {
      digest == head.digest || (epoch, number) < (head.epoch, head.number)
    }
  }

  /// The newest set of administrators that this phone has seen; 0 without a digest: none.
  public private(set) var setNumber: Int64 = 0
  public private(set) var setDigest: [UInt8] = []
  /// The newest list that was in force, as far as this phone knows, by application id.
  public private(set) var lists: [String: List] = [:]
  /// The list that this phone signed last, by application id. Its signature may not have arrived.
  public private(set) var signed: [String: List] = [:]

  public init() {}

  /// Reads ``json``; nil for any other form.
  public init?(_ json: JSON) {
    guard let number = json["set"]?.integer, let digest = json["digest"]?.string.flatMap(Digest.bytes(hexadecimal:)),
      let lists = Self.lists(json["lists"]), let signed = Self.lists(json["signed"])
    else { return nil }
    setNumber = number
    setDigest = digest
    self.lists = lists
    self.signed = signed
  }

  private static func lists(_ json: JSON?) -> [String: List]? {
    guard case .object(let members)? = json else { return nil }
    var lists: [String: List] = [:]
    for member in members {
      guard let list = List(member.value) else { return nil }
      lists[member.name] = list
    }
    return lists
  }

  public var json: JSON {
    .object([
      "set": .integer(setNumber), "digest": .string(Digest.hexadecimal(setDigest)),
      "lists": Self.json(lists), "signed": Self.json(signed),
    ])
  }

  private static func json(_ lists: [String: List]) -> JSON {
    .object(lists.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.json) })
  }

  func remembering(_ set: AdministratorSet) -> DocumentMemory {
    var memory = self
    memory.setNumber = set.number
    memory.setDigest = set.digest
    return memory
  }

  /// - Parameters:
  ///   - head: the head that this phone signs.
  ///   - former: the verified head of the list in force.
  func remembering(_ head: UserListHead, after former: UserListHead?) -> DocumentMemory {
    let application = head.application
    guard signed[application] != nil || signed.count < Self.greatestListCount else { return self }
    var memory = self
    memory.signed[application] = List(head)
    if let former, lists[application]?.isReached(by: former) ?? true { memory.lists[application] = List(former) }
    return memory
  }
}

/// The place where an app keeps its ``DocumentMemory``, beside the account.
public protocol DocumentStorage {
  /// Returns an empty memory if nothing was kept. Throws if it cannot be read: a phone without its memory would accept
  /// older documents.
  func documentMemory() throws -> DocumentMemory

  /// The memory must be on disk when this returns, because the phone signs next.
  func keep(_ memory: DocumentMemory) throws
}
