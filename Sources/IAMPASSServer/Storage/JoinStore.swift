import IAMPASSProtocol

/// How computers join: codes, and who asked by one.
public protocol JoinStore: Sendable {
  /// A new code for an application's computers. Throws ``JoinOrderRefusal``.
  func createJoinCode(_ order: JoinOrder, at now: UnixTime) async throws -> StoredJoinCode

  /// All codes with who asked by them, the newest first; with times for people.
  func joinCodes() async throws -> [ListedJoinCode]

  /// Nobody joins by the code from now on, and who waits is refused.
  ///
  /// - Returns: false for an unknown code.
  func revokeJoinCode(_ id: String, at now: UnixTime) async throws -> Bool

  /// Lets a waiting computer join, or refuses it.
  ///
  /// - Parameter id: the join's, or its name if only one of that name waits.
  func decideJoin(_ id: String, isApproved: Bool, at now: UnixTime) async throws -> JoinDecision
}

/// The service's own part of it.
protocol JoiningStore: JoinStore {
  /// A computer asks by a code, for the first time or again.
  func join(_ ask: JoinAsk, at now: UnixTime) async throws -> JoinVerdict

  /// A computer that waits, with what administrators' phones were asked; nil if it does not wait any more.
  func waitingJoin(_ id: String) async throws -> WaitingJoin?

  /// Notes that this request on a phone is about that computer.
  func noteJoinAsk(_ session: String, about joining: String) async throws
}

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

/// What a computer says.
struct JoinAsk: Sendable {
  let request: JoinRequest
  let address: String

  var codeDigest: String { JoinCode.digest(of: request.code) }
  var secretDigest: String { JoinCode.digest(of: request.secret) }
}

/// What a join depends on, as it is stored.
struct JoinFacts: Sendable {
  struct Known: Sendable {
    let id: String
    let state: Joining.State
    /// Nil unless it joined, and if its credential is gone or revoked.
    let credential: HostCredential?
  }

  /// Nil for a code that nobody made.
  let code: StoredJoinCode?
  /// The application's name.
  let application: String
  /// How many computers have asked by it. One that an administrator refused counts, too: the code is in wrong hands.
  let used: Int64
  /// What became of the same computer's ask before; nil if this is its first.
  let known: Known?
  /// A usable credential of the application has the name or shows it as its host, or another computer waits under it.
  let isNameTaken: Bool

  /// What the computer is told if nothing is to be stored; nil otherwise.
  func verdict(at now: UnixTime) -> JoinVerdict? {
    switch JoinRule.decide(self, at: now) {
    case .refuse(let reason): .refused(reason)
    case .wait: .waiting(known?.id ?? "")
    case .confirm:
      if let credential = known?.credential, let code {
        .joined(credential, application: application, code)
      } else {
        .refused(.credentialRevoked)
      }
    case .store: nil
    }
  }
}

enum JoinVerdict: Sendable {
  /// With the join's id.
  case waiting(String)
  /// With the application's name.
  case joined(HostCredential, application: String, StoredJoinCode)
  case refused(Reason)
}

/// What follows from an ask and the facts. Engines store it in the step in which they read the facts.
enum JoinRule: Equatable {
  case refuse(Reason)
  /// Nothing changes.
  case wait
  case confirm
  /// It is new: it has to wait, or joins at once.
  case store

  static func decide(_ facts: JoinFacts, at now: UnixTime) -> JoinRule {
    guard let code = facts.code else { return .refuse(.unknownJoinCode) }
    switch facts.known?.state {
    case .refused: return .refuse(.joinRefused)
    // It may have joined long ago, and ask again since it never heard of it.
    case .joined: return facts.known?.credential == nil ? .refuse(.credentialRevoked) : .confirm
    case .waiting, nil: break
    }
    guard code.revokedAt == nil else { return .refuse(.joinCodeRevoked) }
    guard now < code.expiresAt else { return .refuse(.joinCodeExpired) }
    guard facts.known == nil else { return .wait }
    guard facts.used < code.uses else { return .refuse(.joinCodeUsed) }
    guard !facts.isNameTaken else { return .refuse(.computerNameTaken) }
    return .store
  }
}
