import HostSystem
import IAMPASSProtocol

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
