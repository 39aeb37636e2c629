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
    try reportingFailures {
      try requireRoot()
      let configuration = try host.configuration()
      Terminal.say("keyring = \(configuration.keyring.rawValue)")
      let kept = SealedPasswords(state: RunFolder(path: configuration.stateFolder))
      do throws(FileError) {
        for uid in try kept.users() {
          guard let key = try kept.key(of: uid) else { continue }
          // A number says it as well.
          let name = (try? SystemUser.find(uid: uid))?.name.text ?? String(uid)
          Terminal.say("\(name): sealed with \(key.rawValue)")
        }
      } catch { throw Failure.file(error) }
    }
  }
}

struct KeyringForget: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Deletes a user's sealed password.",
    discussion: "The next sign-in by password seals it again, unless keyring is off.")

  @OptionGroup var host: HostOptions
  @Argument(help: "The user's name, or the number of a user who is gone.") var user: String

  func run() throws {
    try reportingFailures {
      try requireRoot()
      let configuration = try host.configuration()
      let uid = try uid()
      let kept = SealedPasswords(state: RunFolder(path: configuration.stateFolder))
      do throws(FileError) {
        let wasKept = try kept.key(of: uid) != nil
        try kept.forget(uid)
        Terminal.say(wasKept ? "\(user): forgotten" : "\(user): no password is sealed")
      } catch { throw Failure.file(error) }
    }
  }

  private func uid() throws(Failure) -> UInt32 {
    if let number = UInt32(user) { return number }
    guard let name = UnixUsername(validating: user) else { throw .badUsername(user) }
    guard let found = try SystemUser.look(for: name) else { throw .unknownUser(name) }
    return found.uid
  }
}

extension HostOptions {
  func configuration() throws(Failure) -> Configuration {
    do { return try Configuration(path: path) } catch {
      throw .misconfigured(.configuration(error, path: path), path: path)
    }
  }
}
