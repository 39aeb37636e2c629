import IAMPASSProtocol

/// A computer that waits for an administrator.
struct WaitingJoin: Sendable {
  let joining: Joining
  /// The application's name.
  let application: String
  /// The requests to administrators' phones, oldest first.
  let asks: [Session]
}

/// An order for a new code.
public struct JoinOrder: Sendable {
  public static let usesRange = 1...10_000
  public static let daysRange = 1...366

  /// The application's name or id.
  let application: String
  let secretDigest: String
  let uses: Int
  let isUnattended: Bool
  /// The group of users that the computers get; empty: all users.
  let group: String
  /// How long the code is valid, in seconds.
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
  /// The group of users that the computers get from the service; empty: all users.
  public let group: String
  /// Whether computers join without an administrator's approval.
  public let isUnattended: Bool
  public let createdAt: UnixTime
  public let expiresAt: UnixTime
  public let revokedAt: UnixTime?
  /// The number of the set of administrators in force when the code was made; nil if there was none.
  public var setNumber: Int64? = nil
  /// How many computers have asked by it. One that was refused counts, and one that was forgotten since.
  public var used: Int64 = 0

  /// Whether no more computers can ask by it.
  ///
  /// - Parameter now: service time, as the stored dates.
  func isOver(at now: UnixTime) -> Bool { revokedAt != nil || now >= expiresAt || used >= uses }

  func dated(by clock: StorageClock) -> StoredJoinCode {
    StoredJoinCode(
      id: id, application: application, uses: uses, group: group, isUnattended: isUnattended,
      createdAt: clock.unixTime(of: createdAt), expiresAt: clock.unixTime(of: expiresAt),
      revokedAt: revokedAt.map(clock.unixTime), setNumber: setNumber, used: used)
  }

  /// What the code has besides the certificate; nil if it has nothing.
  ///
  /// - Parameter sets: all sets.
  public func fleet(_ sets: [StoredAdministratorSet]) -> FleetAnchor? {
    sets.first { $0.set.number == setNumber }.flatMap { fleet($0.set) }
  }

  func fleet(_ set: AdministratorSet) -> FleetAnchor? {
    FleetAnchor(administrators: set, application: application, group: group)
  }
}

/// A computer that has used a code.
public struct Joining: Sendable, Equatable {
  public enum State: String, Sendable { case waiting, joined, refused }

  public let id: String
  public let code: String
  public let name: String
  /// The computer's mark, see ``JoinCode/mark(of:)``.
  public let mark: String
  public let state: State
  /// The address that it asked from.
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
  /// Whether no more computers can join with the code.
  public let isOver: Bool
  /// The computers, oldest first.
  public let joinings: [Joining]
}

/// A page of join codes, the newest first.
struct JoinCodePage: Sendable {
  /// The most codes on a page.
  static let length = 50
  /// The most names of computers beside a code. The code's own page has all.
  static let shownNames = 5

  struct Listed: Sendable {
    let code: StoredJoinCode
    /// The application's name.
    let application: String
    /// Whether no more computers can join with the code.
    let isOver: Bool
    /// The names of the computers that joined by it first: one more than ``shownNames`` if there are more.
    let joined: [String]
  }

  let codes: [Listed]
  /// The list continues after the code with this id; nil if there are no more.
  let further: String?
}

/// A page of computers that asked by a code, or that wait, the one that asked first at its top.
struct JoiningPage: Sendable {
  /// The most computers on a page.
  static let length = 50

  struct Listed: Sendable {
    let joining: Joining
    /// The application's name.
    let application: String
  }

  let computers: [Listed]
  /// The list continues after the computer with this id; nil if there are no more.
  let further: String?
}

/// A join code with a page of the computers that asked by it.
struct JoinCodeOverview: Sendable {
  let code: StoredJoinCode
  /// The application's name.
  let application: String
  let page: JoiningPage
}

public enum JoinDecision: Sendable, Equatable {
  case done(Joining)
  case unknown
  /// Several computers of this name wait.
  case several
  /// A usable credential now has the name, or shows it as its host.
  case nameTaken
  /// The code has expired since the computer asked.
  case expired
}
