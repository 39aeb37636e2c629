import HostSystem
import IAMPASSProtocol

/// Where this computer's users come from: `users` in `iampass.conf`.
public enum UserSource: String, Sendable, CaseIterable {
  /// `/etc/iampass/users` alone.
  case file
  /// The service's list, except for users in `/etc/iampass/users`, who have that file's token.
  case service
}

/// Which users of the service's list may sign in here: `users_from_service`.
public struct UserSelection: Sendable, Equatable {
  /// Ranges of uids. 0 is in none of them.
  public var uids: [ClosedRange<UInt32>]
  /// A user must be a member of one of these groups; if it is empty, all users may sign in.
  public var groups: [String]

  /// The uids of people, as adduser(8) and useradd(8) assign them.
  public static let usual = UserSelection(uids: [1_000...59_999], groups: [])

  public init(uids: [ClosedRange<UInt32>], groups: [String]) {
    self.uids = uids
    self.groups = groups
  }

  /// Parses `1000-59999 group:NAME`, with any number of each; nil for other texts, and for a range that includes root.
  public init?(_ text: String) {
    self.init(uids: [], groups: [])
    for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "," }) {
      if word.hasPrefix("group:") {
        guard let name = UnixUsername(validating: String(word.dropFirst(6))) else { return nil }
        groups.append(name.text)
        continue
      }
      let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { UInt32($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, (1...2).contains(ends.count), first >= 1,
        first <= last
      else { return nil }
      uids.append(first...last)
    }
    guard !uids.isEmpty else { return nil }
  }

  /// The text that ``init(_:)`` parses.
  public var text: String {
    (uids.map { "\($0.lowerBound)-\($0.upperBound)" } + groups.map { "group:\($0)" }).joined(separator: " ")
  }

  /// - Parameter isMember: whether the user is a member of the group of this name.
  /// - Throws: if membership of one group is not known, and the user is in none of the groups before it.
  public func includes(
    _ user: SystemUser,
    isMember: (SystemUser, String) throws(UserLookupError) -> Bool = {
      (user, group) throws(UserLookupError) in try user.isMember(ofGroup: group)
    }
  ) throws(UserLookupError) -> Bool {
    guard user.uid != 0, uids.contains(where: { $0.contains(user.uid) }) else { return false }
    for group in groups {
      if try isMember(user, group) { return true }
    }
    return groups.isEmpty
  }
}

extension HostSetup {
  /// The path of the service's list of users, which the helper keeps.
  public var serviceUsersPath: String { configuration.stateFolder + "/service/users" }

  /// The users whom the service lists; nil if no list of this computer's credential is kept.
  public var serviceUsers: ServiceUsers? {
    (try? credential()).flatMap { ServiceUsers(path: serviceUsersPath, credential: $0.applicationID) }
  }

  /// The user's token for a sign-in; nil without one. The file has priority over the service's list.
  ///
  /// - Parameter user: the system's entry of the user; nil if there is none. The service's list is then not used.
  public func token(of name: UnixUsername, known user: SystemUser?) throws(Misconfiguration) -> Secret? {
    let sharing = configuration.sharedTokens
    guard configuration.users == .service else {
      do { return try UserTokens.token(of: name, inFile: usersPath, sharing: sharing) } catch {
        throw .users(error, path: usersPath)
      }
    }
    if let token = try Self.token(of: name, inFile: usersPath, sharing: sharing) { return token }
    guard let user, user.name == name, let token = try serviceToken(of: name), try isSelected(user) else { return nil }
    // The service must not give a user the token of one whom this computer's administrator has named, such as root.
    do throws(UserTokensError) {
      if let other = try UserTokens(path: usersPath).users(having: token, greatest: 1).first {
        throw UserTokensError.tokenIsShared(name.text, with: other)
      }
    } catch {
      guard case .file(let file) = error, file.code == .missing else { throw .users(error, path: serviceUsersPath) }
    }
    return token
  }

  /// Whether the service lists the name for this computer, even if the user may not sign in here.
  public func isListed(_ name: UnixUsername) throws(Misconfiguration) -> Bool {
    guard configuration.users == .service else { return false }
    return try serviceToken(of: name) != nil
  }

  private func isSelected(_ user: SystemUser) throws(Misconfiguration) -> Bool {
    do { return try configuration.userSelection.includes(user) } catch {
      throw .users(.lookup(error), path: configurationPath)
    }
  }

  /// Nil also if there is no list of this computer's credential.
  private func serviceToken(of name: UnixUsername) throws(Misconfiguration) -> Secret? {
    let credential = try credential().applicationID
    do {
      return try ServiceUsers.token(
        of: name, inFile: serviceUsersPath, for: credential, sharing: configuration.sharedTokens)
    } catch {
      if case .file(let file) = error, file.code == .missing { return nil }
      throw .users(error, path: serviceUsersPath)
    }
  }

  /// Nil also if there is no file.
  private static func token(
    of name: UnixUsername, inFile path: String, sharing: SharedTokens
  ) throws(Misconfiguration) -> Secret? {
    do { return try UserTokens.token(of: name, inFile: path, sharing: sharing) } catch {
      if case .file(let file) = error, file.code == .missing { return nil }
      throw .users(error, path: path)
    }
  }
}
