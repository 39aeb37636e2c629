import ArgumentParser
import CommandSupport
import Glibc
import HostState
import HostSystem

struct KeyringCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keyring", abstract: "Shows and forgets the passwords that are sealed for keyrings.",
    discussion: "Nothing here shows a password.", subcommands: [KeyringStatus.self, KeyringForget.self])
}

struct KeyringStatus: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Lists the users whose password is sealed, and what it is sealed with.")

  @OptionGroup var host: HostOptions

  func run() throws {
    try reportingProblems {
      try requireRoot()
      Terminal.say("keyring = \(try host.configuration().keyring.rawValue)")
      let kept = try host.sealedPasswords()
      do throws(FileError) {
        for uid in try kept.users() {
          guard let key = try kept.key(of: uid) else { continue }
          Terminal.say("\(SealedPasswords.owner(uid)): sealed with \(key.rawValue)")
        }
      } catch { throw CommandProblem.file(error) }
    }
  }
}

struct KeyringForget: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Deletes users' sealed passwords.",
    discussion: "The next sign-in by password seals it again, unless keyring is off or the user has no token.")

  @OptionGroup var host: HostOptions
  @Flag(help: "Those of all users.") var all = false
  @Argument(help: "Names of users, or the numbers of users who are gone.") var users: [String] = []

  func validate() throws {
    guard all == users.isEmpty else { throw ValidationError("give names of users, or --all") }
  }

  func run() throws {
    try reportingProblems {
      try requireRoot()
      let kept = try host.sealedPasswords()
      guard !all else { return Terminal.say(try kept.forgetAllAndTell() ?? "no password is sealed") }
      // All names are checked first, so that a mistyped name changes nothing.
      let uids = try users.map { (text) throws(CommandProblem) in try uid(text) }
      for (user, uid) in zip(users, uids) {
        Terminal.say(try kept.forgetOne(uid) ? "\(user): forgotten" : "\(user): no password is sealed")
      }
    }
  }

  private func uid(_ user: String) throws(CommandProblem) -> UInt32 {
    if let number = UInt32(user) { return number }
    guard let name = UnixUsername(validating: user) else { throw .badUsername(user) }
    guard let found = try SystemUser.look(for: name) else { throw .unknownUser(name) }
    return found.uid
  }
}

extension SealedPasswords {
  /// - Returns: the users whose passwords were forgotten, in one line; nil if there were none.
  func forgetAllAndTell() throws(CommandProblem) -> String? {
    let whose: [UInt32]
    do { whose = try forgetAll() } catch { throw .file(error) }
    guard !whose.isEmpty else { return nil }
    let word = whose.count == 1 ? "password" : "passwords"
    return "keyring: forgot the sealed \(word) of \(whose.map(Self.owner).joined(separator: ", "))"
  }

  /// - Returns: whether there was a sealed password.
  func forgetOne(_ uid: UInt32) throws(CommandProblem) -> Bool {
    do { return try forget(uid) } catch { throw .file(error) }
  }
}

extension HostOptions {
  func configuration() throws(CommandProblem) -> Configuration {
    do { return try Configuration(path: path) } catch {
      throw .misconfigured(.configuration(error, path: path), path: path)
    }
  }

  /// The sealed passwords; those in the default folder if there is no configuration. Throws if the configuration cannot
  /// be read: it may name another folder.
  func sealedPasswords() throws(CommandProblem) -> SealedPasswords {
    let folder: String
    do { folder = try Configuration(path: path).stateFolder } catch {
      guard case .keyValue(.file(let file)) = error, file.code == .missing else {
        throw .misconfigured(.configuration(error, path: path), path: path)
      }
      folder = Configuration().stateFolder
    }
    return SealedPasswords(state: RunFolder(path: folder))
  }
}
