import IAMPASSProtocol

/// A computer that waits for an administrator.
struct WaitingJoin: Sendable {
  let joining: Joining
  /// The application's name.
  let application: String
  /// The requests on administrators' phones, the oldest first.
  let asks: [Session]
}

/// A code that is to be made.
public struct JoinOrder: Sendable {
  public static let usesRange = 1...10_000
  public static let daysRange = 1...366

  /// The application's name or id.
  let application: String
  let secretDigest: String
  let uses: Int
  let isUnattended: Bool
  /// Which users the computers have; empty: all.
  let group: String
  /// Seconds.
  let lifetime: Int64

  public init(application: String, secret: Secret, uses: Int, days: Int, isUnattended: Bool, group: String = "") {
    self.application = application
    secretDigest = JoinCode.digest(of: secret)
    self.uses = uses
    self.isUnattended = isUnattended
    self.group = group
    lifetime = Int64(days) * 86_400
  }

  var refusal: JoinOrderRefusal? { group.isEmpty || UserListOrder.isName(group) ? nil : .groupNotFit }
}

public enum JoinOrderRefusal: Error, Equatable, Sendable {
  case unknownApplication
  case groupNotFit
}

public struct StoredJoinCode: Sendable, Equatable {
  public let id: String
  /// The application's id.
  public let application: String
  public let uses: Int64
  /// Which users the computers have from the service: those of this group; empty: all.
  public let group: String
  /// Who joins by it waits for nobody.
  public let isUnattended: Bool
  public let createdAt: UnixTime
  public let expiresAt: UnixTime
  public let revokedAt: UnixTime?
  /// The set of administrators that was in force when the code was made; nil: none was.
  public var setNumber: Int64? = nil

  func dated(by clock: StorageClock) -> StoredJoinCode {
    StoredJoinCode(
      id: id, application: application, uses: uses, group: group, isUnattended: isUnattended,
      createdAt: clock.unixTime(of: createdAt), expiresAt: clock.unixTime(of: expiresAt),
      revokedAt: revokedAt.map(clock.unixTime), setNumber: setNumber)
  }

  /// What the code says beside the certificate; nil if it says nothing.
  ///
  /// - Parameter sets: all there are.
  public func fleet(_ sets: [StoredAdministratorSet]) -> FleetAnchor? {
    sets.first { $0.set.number == setNumber }.flatMap { fleet($0.set) }
  }

  func fleet(_ set: AdministratorSet) -> FleetAnchor? {
    FleetAnchor(administrators: set, application: application, group: group)
  }
}

/// A computer that asked by a code.
public struct Joining: Sendable, Equatable {
  public enum State: String, Sendable { case waiting, joined, refused }

  public let id: String
  public let code: String
  public let name: String
  /// ``JoinCode/mark(of:)``.
  public let mark: String
  public let state: State
  /// Where it asked from.
  public let address: String
  public let askedAt: UnixTime

  func dated(by clock: StorageClock) -> Joining {
    Joining(
      id: id, code: code, name: name, mark: mark, state: state, address: address,
      askedAt: clock.unixTime(of: askedAt))
  }
}

public struct ListedJoinCode: Sendable {
  public let code: StoredJoinCode
  /// The application's name.
  public let application: String
  /// No more can join by it.
  public let isOver: Bool
  /// The oldest first.
  public let joinings: [Joining]
}

public enum JoinDecision: Sendable, Equatable {
  case done(Joining)
  case unknown
  /// Several computers of the name wait.
  case several
  /// A usable credential has the name by now, or shows it as its host.
  case nameTaken
  /// The code has expired since the computer asked.
  case expired
}
