import IAMPASSProtocol

/// An administrator's phone that may answer once for a user who has no phone at hand. Only computers that verify
/// approvals, and trust that phone with this role, accept its approval.
struct Locum: Sendable, Equatable {
  /// How long it is valid, in seconds.
  static let lifetime: Int64 = 120
  /// How often a user may be helped within ``window``.
  static let greatestCount = 3
  /// The time in which helps count together, in seconds.
  static let window: Int64 = 86_400
  /// How long the user's phones show what was approved for them, in seconds.
  static let shownTime: Int64 = 30 * 86_400

  /// The phone's id.
  let phone: String
  /// The administrator's user number.
  let user: Int64
  /// The administrator's name on the phone.
  let name: String
}

extension Locum {
  /// - Parameters:
  ///   - phones: the user's live phones.
  ///   - own: the administrator's phones.
  ///   - name: the chosen phone, by its label or its id; nil: the only one.
  ///   - helped: how often the user was helped within ``window``.
  /// - Throws: ``LocumRefusal``.
  init(
    for user: User, phones: [Phone], by administrator: User, _ own: [Phone], called name: String?, helped: Int
  ) throws {
    guard user.id != administrator.id else { throw LocumRefusal.samePerson }
    guard !phones.isEmpty else { throw LocumRefusal.userHasNoPhone }
    guard !own.isEmpty else { throw LocumRefusal.administratorHasNoPhone }
    // The computer trusts one phone with the role. An approval of another one would not count.
    let named = name.map { name in own.filter { $0.label == name || $0.id == name } } ?? own
    guard named.count == 1, let phone = named.first else { throw LocumRefusal.severalPhones(own.map(\.label)) }
    guard helped < Self.greatestCount else { throw LocumRefusal.tooOften }
    self.init(phone: phone.id, user: administrator.id, name: phone.displayName)
  }
}

extension User {
  /// The locum who may answer for the user now. Only a computer that verifies approvals can check that it trusts the
  /// phone; a reader of a token cannot.
  func usableLocum(for request: SessionStartRequest, at now: UnixTime) -> Locum? {
    guard let locum, request.challenge != nil, request.idTokenNonce == nil, now < locum.until else { return nil }
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

/// An order that an administrator may answer for a user.
public struct LocumOrder: Sendable {
  /// The application's name or id.
  let application: String
  /// The user's Unix name on the application's list, or the user's id.
  let user: String
  let administrator: String
  /// The administrator's phone, by its name or its id; nil: the only one.
  let phone: String?

  public init(application: String, user: String, administrator: String, phone: String? = nil) {
    self.application = application
    self.user = user
    self.administrator = administrator
    self.phone = phone
  }
}

/// The result of a ``LocumOrder``.
public struct AllowedLocum: Sendable {
  /// The administrator's name on the phone.
  public let administrator: String
  /// How long the locum may answer, in seconds.
  public let lifetime: Int64
}

public enum LocumRefusal: Error, Equatable, Sendable {
  case unknownApplication
  case unknownUser
  case unknownAdministrator
  /// The administrator and the user are the same person.
  case samePerson
  /// The user never had a phone that computers could know.
  case userHasNoPhone
  case administratorHasNoPhone
  /// The administrator has these phones, and the order does not choose exactly one.
  case severalPhones([String])
  /// The user was helped too often.
  case tooOften
}
