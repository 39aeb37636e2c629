import ArgumentParser
import CommandSupport
import HostState
import HostSystem
import IAMPASSClient
import IAMPASSProtocol

struct UserRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Takes users' tokens away, at the service and from the users file.",
    discussion: """
      Their phones stop signing in at once, on every computer that has the same token. On a computer whose users come \
      from the service, an administrator has to approve it on the phone.
      """)

  @OptionGroup var options: ManagementOptions
  @Flag(help: "Forget the token here only; other computers go on using it.") var local = false
  @Flag(help: "Forget the token here also where the service cannot be asked.") var force = false
  @Argument(help: "Names of users.") var users: [String]

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let names = try users.map { (text) throws(CommandProblem) in try UnixUsername(typed: text) }
      if let host = try listing(names) { return try unlist(names, host) }
      let lock = try AdminLock(folder: options.host.folder)
      defer { withExtendedLifetime(lock) {} }
      for user in names { try remove(user) }
    }
  }

  /// The setup if the users are on the service's list and none of them is in the users file; nil otherwise.
  private func listing(_ names: [UnixUsername]) throws(CommandProblem) -> ConfiguredHost? {
    guard !local, !force, let configuration = try? Configuration(path: options.host.path),
      configuration.users == .service
    else { return nil }
    let host = try ConfiguredHost(options)
    guard host.asksAdministrators else { return nil }
    for user in names where try hasLine(user) { return nil }
    return host
  }

  private func hasLine(_ user: UnixUsername) throws(CommandProblem) -> Bool {
    let path = options.host.usersPath
    do { return try UserTokens(path: path).token(of: user) != nil } catch {
      if case .file(let file) = error, file.code == .missing { return false }
      throw .misconfigured(.users(error, path: path), path: path)
    }
  }

  private func unlist(_ names: [UnixUsername], _ host: ConfiguredHost) throws(CommandProblem) {
    try options.host.pins.check()
    _ = try options.host.recoveryCodes()
    _ = try options.host.sealedPasswords()
    let approved = try UserChangeCall(host: host).run(.remove, names)
    // The lock is taken only now: it must not be held while an administrator is asked.
    let lock = try AdminLock(folder: options.host.folder)
    defer { withExtendedLifetime(lock) {} }
    for user in names {
      Terminal.say("\(user): removed, approved by \(approved.administrator)")
      // Otherwise a later user of this name would have these codes and keys.
      try options.host.pins.forget(user)
      try options.host.revokeRecoveryCodes(of: user)
      try options.host.removeSecurityKeys(of: user)
      try forgetPassword(of: user)
    }
  }

  /// Removes the user at the service first: after a crash the file still has the token, and the next run finishes. The
  /// file's new version is written before that, so that a full disk changes neither place.
  private func remove(_ user: UnixUsername) throws(CommandProblem) {
    let path = options.host.usersPath
    let token: Secret?
    do { token = try UserTokens(path: path).token(of: user) } catch {
      guard case .file(let file) = error, file.code == .missing else {
        throw .misconfigured(.users(error, path: path), path: path)
      }
      token = nil
    }
    guard let token else {
      guard force else { throw .noToken(user) }
      try options.host.revokeRecoveryCodes(of: user)
      try options.host.removeSecurityKeys(of: user)
      try options.host.pins.forget(user)
      Terminal.say("\(user): had no token")
      return try forgetPassword(of: user)
    }
    let removal: UserTokensRemoval
    do throws(UserTokensError) {
      removal = try UserTokensEditor(path: path).removal(of: user, token: token)
    } catch { throw .misconfigured(.users(error, path: path), path: path) }
    try options.host.pins.check()
    // If the configuration does not say where codes are, this throws before a removal.
    _ = try options.host.recoveryCodes()
    _ = try options.host.sealedPasswords()
    let others = try self.others(having: token, than: user)
    if !local, others.isEmpty { try removeAtService(user, token) }
    // This comes before the token is removed, so that a failed run can be repeated.
    try options.host.pins.forget(user)
    // Otherwise a later user of this name would have these codes and keys.
    try options.host.revokeRecoveryCodes(of: user)
    try options.host.removeSecurityKeys(of: user)
    do { try removal.finish() } catch { throw .misconfigured(.users(error, path: path), path: path) }
    Terminal.say(local || !others.isEmpty ? "\(user): removed here" : "\(user): removed")
    if let other = others.first, !local {
      Terminal.say("\(DisplayText.sanitized(other, limit: 64)) has the same token, so the service keeps it")
    }
    // This comes after the token's removal: until then the password could be sealed again.
    try forgetPassword(of: user)
  }

  /// Forgets the user's sealed password. If the system no longer knows the name, `check` shows the uid.
  private func forgetPassword(of user: UnixUsername) throws(CommandProblem) {
    let kept = try options.host.sealedPasswords()
    guard let uid = try SystemUser.look(for: user)?.uid, try kept.forgetOne(uid) else { return }
    Terminal.say("\(user): the password that was sealed for the keyring is forgotten")
  }

  private func others(having token: Secret, than user: UnixUsername) throws(CommandProblem) -> [String] {
    let path = options.host.usersPath
    do throws(UserTokensError) {
      return try UserTokens(path: path).users(having: token).filter { !$0.utf8.elementsEqual(user.text.utf8) }
    } catch { throw .misconfigured(.users(error, path: path), path: path) }
  }

  private func removeAtService(_ user: UnixUsername, _ token: Secret) throws(CommandProblem) {
    do throws(CommandProblem) {
      try ConfiguredHost(options).manage { (client, deadline) throws(ServiceError) in
        try client.deleteUsers([token], deadline: deadline)
      }
    } catch {
      guard force else { throw error }
      Terminal.complain("warning: \(user)'s token is still at the service: \(error.message)")
    }
  }
}
