import HostSystem
import IAMPASSProtocol

/// Findings about tokens that several users share: one phone signs all of them in.
public struct SharedTokenFindings {
  /// The hint that ends the sharing of any token.
  public static let ownTokens = "give each a token of their own: iampassctl user remove, add and enroll"

  /// The most groups in one report. More would not help.
  public static let greatestShown = 8

  /// The users who share a token, for each such token.
  public let groups: [[String]]
  /// Whether `shared_tokens = allowed`.
  public let isAllowed: Bool
  /// The most users who may share one token.
  public let greatest: Int
  public let isRoot: (String) throws(UserLookupError) -> Bool

  public init(
    groups: [[String]], isAllowed: Bool, greatest: Int, isRoot: @escaping (String) throws(UserLookupError) -> Bool
  ) {
    self.groups = groups
    self.isAllowed = isAllowed
    self.greatest = greatest
    self.isRoot = isRoot
  }

  public var findings: [Finding] { groups.prefix(Self.greatestShown).map(finding) }

  private func finding(_ users: [String]) -> Finding {
    let names = UserFindings.list(users)
    let own = Self.ownTokens
    // More users are refused in any case, so they are not looked up.
    if users.count > greatest {
      return Finding(
        .problem, .users, "more than \(greatest) users have the same token, none can sign in by phone: \(names)",
        hint: own)
    }
    let found: String?
    do { found = try root(among: users) } catch {
      return Finding(
        .problem, .users, "these have the same token, and none can sign in now, since \(error.explanation): \(names)",
        hint: own)
    }
    if let root = found {
      return Finding(
        .problem, .users,
        "\(DisplayText.sanitized(root, limit: 64)) is root and shares its token, none can sign in by phone: \(names)",
        hint: own)
    }
    guard isAllowed else {
      return Finding(
        .problem, .users, "these have the same token, none can sign in by phone: \(names)",
        hint: "\(own); or, if they are one person, set shared_tokens = allowed")
    }
    return Finding(
      .warning, .users, "these have the same token, one phone signs in as each of them: \(names)", hint: own)
  }

  private func root(among users: [String]) throws(UserLookupError) -> String? {
    for user in users {
      if try isRoot(user) { return user }
    }
    return nil
  }
}
