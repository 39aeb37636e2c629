import DeviceProtocol
import IAMPASSProtocol

/// An application's users, and the registration of their phones.
protocol ManagementStore: Sendable {
  /// Adds users to an application, all or none. Sign-ins wait meanwhile, so larger numbers of users are added in
  /// portions: see ``UserPortions``.
  ///
  /// - Parameters:
  ///   - names: the users' names, each once.
  ///   - called: names for people of some of these users, each once. They may be of users who existed before.
  func addUsers(
    _ names: [String], called: [AddUsersRequest.Name], to application: String
  ) async throws -> AddedUsers

  /// Removes those of these users that the application has, with their phones and links, all or none. Others are
  /// skipped.
  ///
  /// - Returns: the sessions that this closed.
  func deleteUsers(_ names: [String], of application: String, at now: UnixTime) async throws -> [Session]

  /// The application's user of this name; nil if there is none.
  func user(_ name: String, of application: String) async throws -> UserRecord?

  /// The application's user with this number; nil if the application has no such user.
  func managed(_ id: Int64, of application: String) async throws -> UserRecord?

  /// Makes a link, which is then the user's only valid one. Revokes a lost phone, and ends its sessions.
  ///
  /// - Returns: nil for an unknown user, and if the lost phone is another user's.
  func makeLink(_ order: LinkOrder, at now: UnixTime) async throws -> StoredLink?

  // MARK: Registration

  /// The link with this code, even if it is used or expired; nil if there is none.
  func link(_ code: Secret) async throws -> (link: Link, application: String)?

  /// The live phone that the link with this code registered; nil if the link is not used, and if that phone was cut off.
  func phone(registeredBy code: Secret) async throws -> LinkedPhone?

  /// Registers the phone for the link's user, and uses up the link, if `decide` says so. Registrations come one after
  /// the other, and `decide` sees the effect of earlier ones.
  ///
  /// With a link that replaces a phone, the new phone replaces the user's phones, or the one that was named as lost.
  /// Unanswered requests are then closed. With another link it is added.
  func register(
    _ phone: NewPhone, by code: Secret, at now: UnixTime,
    deciding decide: @escaping @Sendable (LinkFacts) throws -> Result<Link, Refusal>
  ) async throws -> Result<RegisteredPhone, Refusal>
}

extension ManagementStore {
  /// Adds users. Existing names for people do not change.
  func addUsers(_ names: [String], to application: String) async throws -> AddedUsers {
    try await addUsers(names, called: [], to: application)
  }
}

/// The result of adding users.
struct AddedUsers: Sendable {
  let created: [String]
  /// The names that existed before.
  let existing: [String]
}

/// An application's user, for management.
struct UserRecord: Sendable {
  let user: User
  /// The live phones, oldest first, each with its credential if it has one.
  let phones: [(phone: Phone, credential: VerifiedCredential?)]

  /// The oldest live phone.
  var phone: Phone? { phones.first?.phone }
}

/// An order for a new link.
struct LinkOrder: Sendable {
  let code: Secret
  /// The user's id.
  let user: String
  let application: String
  /// The user's name on the phone; empty if it is not given.
  let displayName: String
  /// What to do with a lost phone's sessions; nil unless a phone is lost.
  let loss: PhoneLoss?
  /// The id of the lost phone; nil: all phones of the user.
  var lostPhone: String? = nil

  /// - Parameter former: the name on the lost phone; nil if it is not known.
  func shownName(former: String?) -> String { displayName.isEmpty ? former ?? KnownUser.nobodysName : displayName }
}

/// The result of making a link.
struct StoredLink: Sendable {
  let user: Int64
  /// The ids of the lost phones, which were cut off.
  let cutOff: [String]
  let closed: [Session]
}

/// A phone to register.
struct NewPhone: Sendable {
  let id: String
  let publicKey: String
  let credential: VerifiedCredential?
  /// The phone's MAC with the link's secret, for computers; nil if it made none.
  let pinMAC: String?
  /// How to ring it; nil: not at all.
  var way: PushWay?
  /// The name that its user wants; see ``Phone/freeName(_:among:)``.
  var name: String? = nil
}

/// A live phone, and the link that registered it.
struct LinkedPhone: Sendable {
  let link: Link
  /// The name of the user's application.
  let application: String
  let phone: Phone
  let credential: VerifiedCredential?
}

/// The stored data about a registration link, for its use.
struct LinkFacts: Sendable {
  /// The link; nil for an unknown code.
  let link: Link?
  /// The ids of the live phones of the link's user, also of those that this version cannot read.
  let phones: [String]
  /// How many phones the user may have.
  let greatestCount: Int64
  /// Whether their application accepts credentials that are synced between devices.
  let acceptsSyncedPasskeys: Bool
}

/// The result of registering a phone.
struct RegisteredPhone: Sendable {
  let user: Int64
  let displayName: String
  /// The application's name.
  let application: String
  /// The ids of the revoked phones.
  let replaced: [String]
  let closed: [Session]
}
