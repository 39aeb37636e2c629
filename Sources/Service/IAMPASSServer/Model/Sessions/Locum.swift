import IAMPASSProtocol

/// An administrator's phone that may answer once for a user who has none at hand. Only computers that verify approvals,
/// and trust that phone with this role, take its approval.
struct Locum: Sendable, Equatable {
  /// How long it is good for, in seconds.
  static let lifetime: Int64 = 120
  /// How often a user may be helped within ``window``.
  static let greatestCount = 3
  /// The time in which helps count together, in seconds.
  static let window: Int64 = 86_400
  /// How long the user's phones show what was approved for them, in seconds.
  static let shownTime: Int64 = 30 * 86_400

  /// The phone's id.
  let phone: String
  /// The administrator's.
  let user: Int64
  /// What the administrator's phone shows for them.
  let name: String
}

extension Locum {
  /// - Parameters:
  ///   - phones: the user's live ones.
  ///   - own: the administrator's.
  ///   - name: which of them, by its label or its id; nil: the only one.
  ///   - helped: how often the user was helped within ``window``.
  /// - Throws: ``LocumRefusal``.
  init(
    for user: User, phones: [Phone], by administrator: User, _ own: [Phone], called name: String?, helped: Int
  ) throws {
    guard user.id != administrator.id else { throw LocumRefusal.samePerson }
    guard !phones.isEmpty else { throw LocumRefusal.userHasNoPhone }
    guard !own.isEmpty else { throw LocumRefusal.administratorHasNoPhone }
    // The computer trusts one phone with the role: another one would be asked for nothing.
    let named = name.map { name in own.filter { $0.label == name || $0.id == name } } ?? own
    guard named.count == 1, let phone = named.first else { throw LocumRefusal.severalPhones(own.map(\.label)) }
    guard helped < Self.greatestCount else { throw LocumRefusal.tooOften }
    self.init(phone: phone.id, user: administrator.id, name: phone.displayName)
  }
}

extension User {
  /// Who may answer for the user now: only a computer that verifies approvals knows whether it trusts that phone, and who
  /// reads a token does not.
  func usableLocum(for ask: StartAsk, at now: UnixTime) -> Locum? {
    guard let locum, ask.challenge != nil, ask.idTokenNonce == nil, now < locum.until else { return nil }
    return locum.0
  }
}

/// A sign-in that a locum approved, for its user.
struct LocumApproval: Sendable {
  let name: String
  let at: UnixTime
  let context: SignInContext

  init?(_ session: Session) {
    guard let locum = session.locum, session.answeredBy == locum.phone, let at = session.lifecycle.approvedAt else {
      return nil
    }
    (name, self.at, context) = (locum.name, at, session.context)
  }
}

/// Who is to help whom.
public struct LocumOrder: Sendable {
  /// The application's name or id.
  let application: String
  /// By the Unix name on the application's list, or by the user's id.
  let user: String
  let administrator: String
  /// The administrator's phone, by what its owner calls it or by its id; nil: the only one.
  let phone: String?

  public init(application: String, user: String, administrator: String, phone: String? = nil) {
    self.application = application
    self.user = user
    self.administrator = administrator
    self.phone = phone
  }
}

/// What became of it.
public struct AllowedLocum: Sendable {
  /// What the administrator's phone shows for them.
  public let administrator: String
  /// Seconds.
  public let lifetime: Int64
}

public enum LocumRefusal: Error, Equatable, Sendable {
  case unknownApplication
  case unknownUser
  case unknownAdministrator
  /// Nobody is their own locum.
  case samePerson
  /// The user never had a phone that computers know.
  case userHasNoPhone
  case administratorHasNoPhone
  /// The administrator has these phones, and not exactly one of them is meant.
  case severalPhones([String])
  /// The user was helped too often.
  case tooOften
}
