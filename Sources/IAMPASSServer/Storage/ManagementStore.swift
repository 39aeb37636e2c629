import DeviceProtocol
import IAMPASSProtocol

/// An application's users, and how they get a phone.
protocol ManagementStore: Sendable {
  /// Adds users to an application: all of them, or none.
  ///
  /// - Parameter names: each once.
  func addUsers(_ names: [String], to application: String) async throws -> AddedUsers

  /// Removes users with their phones and links: all that the application has, or none. Others are passed over.
  ///
  /// - Returns: the sessions that this closed.
  func deleteUsers(_ names: [String], of application: String, at now: UnixTime) async throws -> [Session]

  /// The application's user of this name; nil if there is none.
  func user(_ name: String, of application: String) async throws -> UserRecord?

  /// The application's user with this number; nil if the application has no such user.
  func managed(_ id: Int64, of application: String) async throws -> UserRecord?

  /// Makes the user's only link that works, and cuts a lost phone off with what that ends.
  ///
  /// - Returns: nil for an unknown user.
  func makeLink(_ order: LinkOrder, at now: UnixTime) async throws -> StoredLink?

  // MARK: Registration

  /// The link with this code, used or expired or not; nil if there is none.
  func link(_ code: Secret) async throws -> (link: Link, application: String)?

  /// Makes the phone the link's user's, and uses up the link, if `decide` says so. Two phones come one after
  /// the other, and `decide` sees what the first one did.
  ///
  /// The phone takes the place of another, whose unanswered requests are closed.
  func register(
    _ phone: NewPhone, by code: Secret, at now: UnixTime,
    deciding decide: @escaping @Sendable (LinkFacts) throws -> Result<Link, Refusal>
  ) async throws -> Result<RegisteredPhone, Refusal>
}

/// What became of names that were to be added.
struct AddedUsers: Sendable {
  let created: [String]
  /// These were there before.
  let existing: [String]
}

/// An application's user, as management sees one.
struct UserRecord: Sendable {
  let user: User
  /// The live one.
  let phone: Phone?
  /// The phone's; nil if it has none.
  let credential: VerifiedCredential?
}

/// What a new link is to be.
struct LinkOrder: Sendable {
  let code: Secret
  /// The user's, and the application's id.
  let user: String
  let application: String
  /// What the phone is to show for the user; empty if that is not given.
  let displayName: String
  /// Nil unless the user's phone is lost.
  let loss: PhoneLoss?

  /// - Parameter former: what the lost phone showed; nil if that is not known.
  func shownName(former: String?) -> String { displayName.isEmpty ? former ?? "user" : displayName }
}

/// What happened when a link was made.
struct StoredLink: Sendable {
  let user: Int64
  /// The id of the lost phone, which was cut off; nil if there was none.
  let cutOff: String?
  let closed: [Session]
}

/// A phone that asks to be registered.
struct NewPhone: Sendable {
  let id: String
  let publicKey: String
  let credential: VerifiedCredential?
  /// What it made of the link's secret, for computers; nil if it made nothing.
  let pinMAC: String?
  /// How it is rung; nil: not at all.
  var way: PushWay?
}

/// What is stored about a registration link when it is used.
struct LinkFacts: Sendable {
  /// Nil for an unknown code.
  let link: Link?
  /// The link's user has a live phone.
  let hasPhone: Bool
}

/// What happened when a phone was registered.
struct RegisteredPhone: Sendable {
  let user: Int64
  let displayName: String
  /// The application's name.
  let application: String
  /// The phone that was cut off; nil if there was none.
  let replaced: String?
  let closed: [Session]
}
