import IAMPASSProtocol

/// What administrators' phones sign: sets of administrators, and applications' lists of users.
///
/// A set of administrators is made once by a command. From then on each further set needs a signature by a key of the set
/// before, and lists need one by a phone of the set in force.
public protocol SigningStore: Sendable {
  /// All sets, the oldest first.
  func administratorSets() async throws -> [StoredAdministratorSet]

  /// Makes the first set of the administrators' phones that there are.
  ///
  /// - Parameter replacing: forgets every set and signed list there is; computers that have joined by them join again.
  func createAdministratorSet(replacing: Bool, at now: UnixTime) async throws -> FirstSetOutcome

  /// What is not signed at this moment.
  func signingState() async throws -> SigningState

  /// Has the service ask an administrator's phone for a signature.
  ///
  /// - Returns: the order's id.
  func orderDocument(_ order: DocumentOrder, at now: UnixTime) async throws -> String

  /// Where an order stands; nil for one that is not known any more.
  func documentOrder(_ id: String) async throws -> DocumentProgress?

  /// The orderer does not wait any more.
  func withdrawDocument(_ id: String, at now: UnixTime) async throws

  /// The set that would follow, for a recovery key to sign; nil if nothing has changed, or there is no set.
  func nextAdministratorSet(_ wish: RecoveryWish) async throws -> NextSet?

  /// Stores a set that a recovery key has signed.
  ///
  /// - Returns: nil if it is stored; otherwise why it is not.
  func keepAdministratorSet(
    _ set: AdministratorSet, _ proof: DocumentProof, at now: UnixTime
  ) async throws -> DocumentOutcome?
}

/// A set of administrators with what a key of the set before signed.
public struct StoredAdministratorSet: Sendable, Equatable {
  public let set: AdministratorSet
  /// Nil for the first.
  public let proof: DocumentProof?
  /// Who signed it; empty for the first.
  public let signer: String
  /// Service time.
  public let madeAt: UnixTime

  var signed: SignedAdministratorSet { SignedAdministratorSet(set: set, proof: proof) }
}

public enum FirstSetOutcome: Sendable, Equatable {
  case made(AdministratorSet)
  /// There is one.
  case exists
  /// No administrator of the role *admin* has a phone whose key can sign.
  case noPhone
}

/// What is to become of the set's recovery key.
public enum RecoveryWish: Sendable, Equatable {
  case keep
  /// This key is the only one from then on.
  case replace(P256PublicKey)
}

/// The set that follows the one in force.
public struct NextSet: Sendable {
  public let set: AdministratorSet
  /// In plain words.
  public let changes: [String]
}

/// What an administrator is to sign.
public struct DocumentOrder: Sendable, Equatable {
  public enum Subject: Sendable, Equatable {
    /// The users of the application with this id.
    case users(application: String)
    case administrators(RecoveryWish)
  }

  public let subject: Subject
  /// Whose phone is asked.
  public let administrator: String

  public init(_ subject: Subject, by administrator: String) {
    self.subject = subject
    self.administrator = administrator
  }
}

/// How far an order is.
public enum DocumentProgress: Sendable, Equatable {
  /// The service has not taken it yet.
  case ordered
  /// The phone is asked.
  case asked
  case ended(DocumentOutcome)
}

/// What became of a document that was to be signed.
public enum DocumentOutcome: String, Sendable, CaseIterable {
  case signed
  /// Everything is signed as it is.
  case nothing = "nothing to sign"
  /// There is no set of administrators.
  case noSet = "no set"
  /// None of the administrator's phones is in the set in force.
  case notSigner = "not a signer"
  /// The document would be one that no computer takes.
  case unfit
  /// The phone has another open request.
  case busy
  /// The phone cannot be asked.
  case notAsked = "not asked"
  case denied
  case notAnswered = "not answered"
  /// What the phone sent proves nothing.
  case notProven = "not proven"
  /// Something newer was signed meanwhile.
  case outdated
  case withdrawn
}

/// What is signed, and what is not.
public struct SigningState: Sendable, Equatable {
  /// One application's list.
  public struct List: Sendable, Equatable {
    /// The application's id.
    public let application: String
    /// The application's name.
    public let name: String
    /// The newest list that was signed; nil if none was.
    public let head: UserListHead?
    public let signer: String
    public let signedAt: UnixTime?
    /// The signer's phone is not in the set in force as it was, or too much has changed in the sets since.
    public let isSignerGone: Bool
    /// It was signed before the database was put back.
    public let isOfOtherEpoch: Bool
    /// What is not signed, by names.
    public let changes: [ListChange]
    /// The first change that is not signed, in service time; nil if everything is signed, or nobody knows. It may be one
    /// that was taken back since.
    public let unsignedSince: UnixTime?

    /// Computers have what the service has.
    public var isSigned: Bool { head != nil && !isSignerGone && !isOfOtherEpoch && changes.isEmpty }
  }

  /// The set in force; nil: this service signs nothing.
  public let set: AdministratorSet?
  /// What differs from the administrators and their phones now, in plain words.
  public let setChanges: [String]
  /// Those of applications that have a list, or had one that was signed. Empty without a set.
  public let lists: [List]
  /// As a list's, for administrators.
  public let setUnsignedSince: UnixTime?

  init(set: AdministratorSet?, setChanges: [String], lists: [List], setUnsignedSince: UnixTime? = nil) {
    self.set = set
    self.setChanges = setChanges
    self.lists = lists
    self.setUnsignedSince = setUnsignedSince
  }

  /// The oldest of all, in service time.
  public var unsignedSince: UnixTime? { ([setUnsignedSince] + lists.map(\.unsignedSince)).compactMap(\.self).min() }

  /// How old the first change is that is not signed, after the number of changes; empty if nobody knows.
  ///
  /// - Parameters:
  ///   - since: service time, as `now`.
  public static func words(since: UnixTime?, at now: UnixTime) -> String {
    since.map { "; the first is \(ElapsedTime.words(seconds: now.milliseconds(since: $0) / 1_000)) old" } ?? ""
  }

  /// Whether everything is signed, or nothing is to be.
  public var isSigned: Bool { setChanges.isEmpty && lists.allSatisfy(\.isSigned) }
}

/// What differs for one user.
public struct ListChange: Sendable, Equatable {
  public enum Kind: Sendable, Equatable { case added, removed, changed }

  public let name: String
  public let kind: Kind
  /// Those from now on.
  public let groups: [String]
  let hasOtherPhones: Bool
  let hasOtherGroups: Bool

  /// In plain words.
  public var text: String {
    let place = groups.isEmpty ? "" : " (\(groups.joined(separator: ", ")))"
    switch kind {
    case .added: return "add \(name)\(place)"
    case .removed: return "remove \(name)"
    case .changed:
      let parts = [
        hasOtherGroups ? groups.isEmpty ? "no groups" : "groups \(groups.joined(separator: ", "))" : nil,
        hasOtherPhones ? "phones" : nil,
      ].compactMap(\.self)
      return "change \(name): \(parts.isEmpty ? "the service's name for the user" : parts.joined(separator: " and "))"
    }
  }
}
