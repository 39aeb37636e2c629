import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem

/// Registers a user's security key with pamu2fcfg(1), and removes all keys of a user.
struct SecurityKeyRegistration {
  private static let program = "/usr/bin/pamu2fcfg"
  /// The longest wait in seconds. It is longer than keys wait for a touch, plus two PINs.
  private static let patience: Int64 = 120
  /// The greatest length of one key's line in bytes.
  private static let greatestLength = 4_096

  let host: HostOptions

  func register(_ text: String) throws(CommandProblem) {
    try requireRoot()
    let name = try UnixUsername(typed: text)
    guard try SystemUser.look(for: name) != nil else { throw .unknownUser(name) }
    guard Program.exists(Self.program) else { throw .keyProgramMissing }
    Terminal.say("Plug \(name)'s security key in, and touch it when it blinks.")
    let words = [
      Self.program, "--username=\(name)", "--origin=\(SecurityKeyFiles.origin)", "--appid=\(SecurityKeyFiles.origin)",
    ]
    // The program asks for a key's PIN at the terminal.
    let answer = Program.run(words, seconds: Self.patience, atTerminal: true)
    guard let answer, answer.status == 0 else { throw .keyNotRegistered(name) }
    guard let line = answer.output.split(separator: "\n").map(String.init).last(where: { isRegistration($0, of: name) })
    else { throw .keyNotRegistered(name) }
    let lock = try AdminLock(folder: host.folder)
    defer { withExtendedLifetime(lock) {} }
    let files = SecurityKeyFiles(folder: host.folder)
    do { try files.add(line, of: name) } catch { throw .file(error) }
    do throws(CommandProblem) { try SecurityKeyParts.renew(files) } catch {
      Terminal.complain("iampassctl: \(name)'s security key is registered, and PAM does not ask for it")
      throw error
    }
    Terminal.say("\(name): the security key is registered on this computer")
    if SecurityKeyParts.place == nil {
      Terminal.complain("iampassctl: no PAM service takes security keys yet")
      Terminal.complain("hint: iampassctl enable --security-key")
    }
  }

  func removeAll(_ text: String) throws(CommandProblem) {
    try requireRoot()
    let name = try UnixUsername(typed: text)
    let lock = try AdminLock(folder: host.folder)
    defer { withExtendedLifetime(lock) {} }
    let had = try host.removeSecurityKeys(of: name)
    Terminal.say(had ? "\(name): security keys removed here" : "\(name): had no security key here")
  }

  /// Whether the line is `USER:HANDLE,KEY,TYPE,OPTIONS` with one key. It must not have text that the mapping would read
  /// as another line or user.
  private func isRegistration(_ line: String, of user: UnixUsername) -> Bool {
    guard line.hasPrefix(user.text + ":"), line.utf8.count <= Self.greatestLength else { return false }
    let key = line.dropFirst(user.text.count + 1)
    let fields = key.split(separator: ",", omittingEmptySubsequences: false)
    return fields.count == 4 && fields[0..<3].allSatisfy { !$0.isEmpty }
      && key.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "#") }
  }
}

extension HostOptions {
  /// Removes the user's keys. PAM's line is changed first: a user whom it asks for a key must have one.
  @discardableResult
  func removeSecurityKeys(of user: UnixUsername) throws(CommandProblem) -> Bool {
    let files = SecurityKeyFiles(folder: folder)
    do throws(FileError) {
      guard try files.counts().contains(where: { UnixUsername(validating: $0.user) == user }) else { return false }
    } catch { throw .file(error) }
    try SecurityKeyParts.renew(files, without: user)
    do { return try files.remove(user) } catch { throw .file(error) }
  }
}
