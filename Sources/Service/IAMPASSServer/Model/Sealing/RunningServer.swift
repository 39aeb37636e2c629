/// A lost key of sealed secrets, after ``OperatorStore/giveUpLostKey(at:)``.
public struct GivenUpKey: Sendable, Equatable {
  public let id: String
  /// `APPLICATION: SERVICE` of each key for a notification service that is gone.
  public let notifications: [String]
  public let clients: LostClients
}

/// The sign-in clients whose secrets a lost key has sealed.
public struct LostClients: Sendable, Equatable {
  /// The names of applications, each of which has another secret, that nobody knows.
  public var applications: [String] = []
  /// `APPLICATION: NAME` of each credential that is revoked.
  public var credentials: [String] = []
  /// The names of computers that waited to join, and are refused.
  public var joinings: [String] = []
}

/// A server that runs on a database, as it shows itself to commands: which keys of sealed secrets it has.
public struct RunningServer: Sendable, Equatable {
  /// What every server shows.
  static let mark: Int64 = 0
  /// What a server shows that refuses a database whose secrets are in clear.
  private static let refusalMark: Int64 = 1
  /// What a server shows that can use sealed secrets of applications and computers. Earlier versions cannot.
  private static let clientsMark: Int64 = 4

  /// Numbers of 31 bits: PostgreSQL has them as advisory locks.
  let marks: Set<Int64>
  /// The address that it comes from; empty on the database's own machine, or if it is not known.
  public let address: String

  init(marks: Set<Int64>, address: String = "") {
    self.marks = marks
    self.address = address
  }

  /// What a server with these keys shows.
  init(with keys: SealKeys?) {
    var marks: Set = [Self.mark, Self.clientsMark]
    if let keys {
      marks.formUnion(keys.ids.map(Self.mark(ofKey:)))
      if keys.requiresSeal { marks.insert(Self.refusalMark) }
    }
    self.init(marks: marks)
  }

  /// Whether it can use secrets that are sealed by this key.
  public func has(key id: String) -> Bool { marks.contains(Self.mark(ofKey: id)) }

  /// Whether it can use sealed secrets of applications and computers.
  public var opensClients: Bool { marks.contains(Self.clientsMark) }

  /// Whether it would refuse the database if that was unsealed.
  public var requiresSeal: Bool { marks.contains(Self.refusalMark) }

  /// Never one of the other marks: its second bit is set.
  private static func mark(ofKey id: String) -> Int64 {
    Int64(id.prefix(8), radix: 16).map { $0 & 0x7FFF_FFFF | 2 } ?? refusalMark
  }
}
