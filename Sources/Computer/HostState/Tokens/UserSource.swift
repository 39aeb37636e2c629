import HostSystem
import IAMPASSProtocol

/// Where this computer's users come from: `users` in `iampass.conf`.
public enum UserSource: String, Sendable, CaseIterable {
  /// `/etc/iampass/users` alone.
  case file
  /// The service's list; whoever stands in `/etc/iampass/users` is that file's.
  case service
}

/// Which users of the service's list may sign in here: `users_from_service`.
public struct UserSelection: Sendable, Equatable {
  /// By uid; 0 is in none of them.
  public var uids: [ClosedRange<UInt32>]
  /// Members of one of these; empty: all.
  public var groups: [String]

  /// People's, as adduser(8) and useradd(8) give them out.
  public static let usual = UserSelection(uids: [1_000...59_999], groups: [])

  public init(uids: [ClosedRange<UInt32>], groups: [String]) {
    self.uids = uids
    self.groups = groups
  }

  /// `1000-59999 group:NAME`, with any number of each; nil for anything else, and for a range with root in it.
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

  /// As ``init(_:)`` takes it.
  public var text: String {
    (uids.map { "\($0.lowerBound)-\($0.upperBound)" } + groups.map { "group:\($0)" }).joined(separator: " ")
  }

  /// - Parameter isMember: whether the user is a member of the group of this name.
  /// - Throws: if that cannot be known of one group, and the user is in none before it.
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
  /// The service's list of users, as the helper keeps it.
  public var serviceUsersPath: String { configuration.stateFolder + "/service/users" }

  /// The users whom the service lists; nil if no list of this computer's credential is kept.
  public var serviceUsers: ServiceUsers? {
    (try? credential()).flatMap { ServiceUsers(path: serviceUsersPath, credential: $0.applicationID) }
  }

  /// The user's token for a sign-in; nil without one. Whoever stands in the file has the token of the file.
  ///
  /// - Parameter user: as the system knows the user; nil if it does not: nobody is then found in the service's list.
  public func token(of name: UnixUsername, known user: SystemUser?) throws(Misconfiguration) -> Secret? {
    let sharing = configuration.sharedTokens
    guard configuration.users == .service else {
      do { return try UserTokens.token(of: name, inFile: usersPath, sharing: sharing) } catch {
        throw .users(error, path: usersPath)
      }
    }
    if let token = try Self.token(of: name, inFile: usersPath, sharing: sharing) { return token }
    guard let user, user.name == name, let token = try serviceToken(of: name), try isSelected(user) else { return nil }
    // The service must not give a user the phone of one whom this computer's administrator has named, root for example.
    do throws(UserTokensError) {
      if let other = try UserTokens(path: usersPath).users(having: token, greatest: 1).first {
        throw UserTokensError.tokenIsShared(name.text, with: other)
      }
    } catch {
      guard case .file(let file) = error, file.code == .missing else { throw .users(error, path: serviceUsersPath) }
    }
    return token
  }

  /// Whether the service lists the name for this computer, whoever may sign in here.
  public func isListed(_ name: UnixUsername) throws(Misconfiguration) -> Bool {
    guard configuration.users == .service else { return false }
    return try serviceToken(of: name) != nil
  }

  private func isSelected(_ user: SystemUser) throws(Misconfiguration) -> Bool {
    do { return try configuration.userSelection.includes(user) } catch {
      throw .users(.lookup(error), path: configurationPath)
    }
  }

  /// Nil without a list of this computer's credential, too.
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

  /// Nil without the file, too.
  private static func token(
    of name: UnixUsername, inFile path: String, sharing: SharedTokens
  ) throws(Misconfiguration) -> Secret? {
    do { return try UserTokens.token(of: name, inFile: path, sharing: sharing) } catch {
      if case .file(let file) = error, file.code == .missing { return nil }
      throw .users(error, path: path)
    }
  }
}
