import DeviceProtocol
import IAMPASSProtocol

/// An application's users, and how they get a phone.
protocol ManagementStore: Sendable {
  /// Adds users to an application: all of them, or none. Whoever signs in meanwhile waits as long as that takes: many are
  /// added in portions, as ``UserPortions`` says.
  ///
  /// - Parameters:
  ///   - names: each once.
  ///   - called: what people call some of them, each once, also if the user was there before.
  func addUsers(
    _ names: [String], called: [AddUsersRequest.Name], to application: String
  ) async throws -> AddedUsers

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
  /// - Returns: nil for an unknown user, and if the lost phone is somebody else's.
  func makeLink(_ order: LinkOrder, at now: UnixTime) async throws -> StoredLink?

  // MARK: Registration

  /// The link with this code, used or expired or not; nil if there is none.
  func link(_ code: Secret) async throws -> (link: Link, application: String)?

  /// Makes the phone the link's user's, and uses up the link, if `decide` says so. Two phones come one after
  /// the other, and `decide` sees what the first one did.
  ///
  /// By a link that replaces a phone, it takes the place of the user's phones, or of the one that was named as lost; what
  /// nobody has answered is then closed. By another link it stands beside them.
  func register(
    _ phone: NewPhone, by code: Secret, at now: UnixTime,
    deciding decide: @escaping @Sendable (LinkFacts) throws -> Result<Link, Refusal>
  ) async throws -> Result<RegisteredPhone, Refusal>
}

extension ManagementStore {
  /// Users keep the names that they have.
  func addUsers(_ names: [String], to application: String) async throws -> AddedUsers {
    try await addUsers(names, called: [], to: application)
  }
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
  /// The live ones, the oldest first, each with its credential, if it has one.
  let phones: [(phone: Phone, credential: VerifiedCredential?)]

  /// The oldest.
  var phone: Phone? { phones.first?.phone }
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
  /// The id of the one that is lost; nil: all of the user's.
  var lostPhone: String? = nil

  /// - Parameter former: what the lost phone showed; nil if that is not known.
  func shownName(former: String?) -> String { displayName.isEmpty ? former ?? KnownUser.nobodysName : displayName }
}

/// What happened when a link was made.
struct StoredLink: Sendable {
  let user: Int64
  /// The ids of the lost phones, which were cut off.
  let cutOff: [String]
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
  /// As its user wants it; see ``Phone/freeName(_:among:)``.
  var name: String? = nil
}

/// What is stored about a registration link when it is used.
struct LinkFacts: Sendable {
  /// Nil for an unknown code.
  let link: Link?
  /// The live phones of the link's user.
  let phones: [Phone]
  /// How many the user may have.
  let greatestCount: Int64
}

/// What happened when a phone was registered.
struct RegisteredPhone: Sendable {
  let user: Int64
  let displayName: String
  /// The application's name.
  let application: String
  /// The phones that were cut off.
  let replaced: [String]
  let closed: [Session]
}
