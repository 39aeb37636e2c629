import IAMPASSProtocol

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
  /// What the service failed to have signed.
  public internal(set) var failed = FailedSignatures()

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

  /// What the console says if ``failed`` has it. The reason follows, if it is known.
  static let failureText = "The service failed several times to have it signed. Its log says why."

  /// As ``words(since:at:)``, after the age; empty if it has not failed.
  ///
  /// - Parameter reason: nil: it is not known.
  public static func words(failed: Bool, reason: String? = nil) -> String {
    guard failed else { return "" }
    let why = reason.map { ": " + DisplayText.sanitized($0) } ?? ", and its log says why"
    return "; the service failed several times to have it signed" + why
  }

  /// Whether everything is signed, or nothing is to be.
  public var isSigned: Bool { setChanges.isEmpty && lists.allSatisfy(\.isSigned) }
}

/// What was ordered to be signed and ended in failures, and was not ordered again since.
public struct FailedSignatures: Sendable, Equatable {
  /// Applications' ids.
  public internal(set) var applications: Set<String> = []
  public internal(set) var isSetConcerned = false
  /// Why, by applications' ids, for people. An earlier version gave no reason.
  public internal(set) var reasons: [String: String] = [:]
  public internal(set) var setReason: String?

  init() {}

  /// - Parameter orders: the oldest first; without an application: of the set of administrators.
  init(_ orders: [(application: String?, outcome: DocumentOutcome?, reason: String?)]) {
    for (application, outcome, reason) in orders {
      switch application {
      case nil:
        isSetConcerned = outcome == .failed
        setReason = isSetConcerned ? reason : nil
      case let id? where outcome == .failed:
        applications.insert(id)
        reasons[id] = reason
      case let id?:
        applications.remove(id)
        reasons[id] = nil
      }
    }
  }
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
