/// The administrators whose phones sign a service's lists of users, and the keys that sign the set after this one.
///
/// Sets are numbered. A key of a set signs the next set. A computer recognizes its first set by the digest in its join
/// code.
public struct AdministratorSet: Sendable, Equatable {
  public static let purpose = "iampass-administrators/1"
  /// The greatest number of keys.
  public static let greatestCount = 64
  /// The greatest length of a name in characters.
  public static let greatestNameLength = 100

  /// A key that may sign.
  public enum Key: Sendable, Equatable {
    /// An administrator's phone: signs lists and sets.
    case phone(name: String, PinnedPhone)
    /// A key on paper: signs sets, but never a list.
    case recovery(name: String, P256PublicKey)

    /// The administrator's name, or the recovery key's. It is for people.
    public var name: String {
      switch self {
      case .phone(let name, _), .recovery(let name, _): name
      }
    }

    public var publicKey: P256PublicKey {
      switch self {
      case .phone(_, let phone): phone.key
      case .recovery(_, let key): key
      }
    }

    /// The sort order of keys: kind, name, text.
    fileprivate var order: [String] {
      switch self {
      case .phone(let name, let phone): ["phone", name, phone.fields]
      case .recovery(let name, let key): ["recovery", name, key.text]
      }
    }

    fileprivate var json: JSON {
      let order = order
      let text: String
      switch self {
      case .phone: text = "phone"
      case .recovery: text = "key"
      }
      return .object([
        JSON.Member("name", .string(order[1])), JSON.Member("kind", .string(order[0])),
        JSON.Member(text, .string(order[2])),
      ])
    }

    fileprivate init(_ json: JSON) throws(MessageError) {
      let name = try json.text("name")
      switch json["kind"]?.string {
      case "phone":
        guard let phone = PinnedPhone(fields: try json.text("phone")) else { throw .member("phone") }
        self = .phone(name: name, phone)
      case "recovery":
        guard let key = P256PublicKey(try json.text("key")) else { throw .member("key") }
        self = .recovery(name: name, key)
      default: throw .member("kind")
      }
    }
  }

  /// At least 1.
  public let number: Int64
  /// The previous set's digest; empty for the first set.
  public let previous: [UInt8]
  /// Sorted by kind, name and text.
  public let keys: [Key]

  /// Nil for a set that no computer accepts. It has no phone, more than ``greatestCount`` keys, or a repeated key or
  /// phone id. Or a name is not shown as it is written, or the number does not fit `previous`.
  public init?(number: Int64, previous: [UInt8], keys: [Key]) {
    guard number >= 1, previous.count == (number == 1 ? 0 : 32), keys.count <= Self.greatestCount else { return nil }
    guard keys.allSatisfy({ Self.isName($0.name) }) else { return nil }
    self.number = number
    self.previous = previous
    self.keys = keys.sorted { $0.order.precedes($1.order) }
    let ids = phones.map(\.id)
    guard !ids.isEmpty, Set(ids).count == ids.count, Set(keys.map(\.publicKey.text)).count == keys.count else {
      return nil
    }
  }

  /// Refuses every form except that of ``json``.
  public init(_ json: JSON) throws(MessageError) {
    guard json["purpose"]?.string == Self.purpose else { throw .member("purpose") }
    guard let previous = Digest.bytes(hexadecimal: json["previous"]?.string ?? "-") else { throw .member("previous") }
    guard let items = json["keys"]?.array, items.count <= Self.greatestCount else { throw .member("keys") }
    var keys: [Key] = []
    for item in items { keys.append(try Key(item)) }
    guard let set = AdministratorSet(number: try json.number("number"), previous: previous, keys: keys) else {
      throw .member("keys")
    }
    self = set
    guard json.isSpelled(as: self.json) else { throw .member("keys") }
  }

  public var json: JSON {
    .object([
      "purpose": .string(Self.purpose), "number": .integer(number), "previous": .string(Digest.hexadecimal(previous)),
      "keys": .array(keys.map(\.json)),
    ])
  }

  /// 32 bytes.
  public var digest: [UInt8] { Digest.sha256(json.canonicallyEncoded()) }

  /// The phones that may sign a list.
  public var phones: [PinnedPhone] {
    keys.compactMap { if case .phone(_, let phone) = $0 { phone } else { nil } }
  }

  /// The name of the phone's administrator; nil if no key has this phone.
  public func administrator(withPhone id: String) -> String? {
    for case .phone(let name, let phone) in keys where phone.id.utf8.elementsEqual(id.utf8) { return name }
    return nil
  }

  /// The recovery key's name; nil if the key is not in the set.
  public func recoveryKey(_ key: P256PublicKey) -> String? {
    for case .recovery(let name, let known) in keys where known == key { return name }
    return nil
  }

  /// Whether this may be the set after `former`. Does not check who signed it.
  public func follows(_ former: AdministratorSet) -> Bool {
    former.number < .max && number == former.number + 1 && Digest.areEqual(previous, former.digest)
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && DisplayText.sanitized(text, limit: greatestNameLength).utf8.elementsEqual(text.utf8)
  }
}

extension [String] {
  /// Compares the texts by bytes, one after the other.
  fileprivate func precedes(_ other: [String]) -> Bool {
    for (left, right) in zip(self, other) where !left.utf8.elementsEqual(right.utf8) {
      return left.utf8.lexicographicallyPrecedes(right.utf8)
    }
    return count < other.count
  }
}

extension JSON {
  /// Whether both have the same canonical text, so that no member is unread or in another order.
  package func isSpelled(as other: JSON) -> Bool { canonicallyEncoded() == other.canonicallyEncoded() }
}
