import ArgumentParser
import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import PAMStacks

/// What `enable` should do about security keys.
enum SecurityKeyChoice: EnumerableFlag {
  case securityKey, securityKeySecond, noSecurityKey

  static func help(for value: SecurityKeyChoice) -> ArgumentHelp? {
    switch value {
    case .securityKey: "Take a security key, too: libpam-u2f's line goes above the phone's."
    case .securityKeySecond: "Ask users who have a security key for it besides phone or password."
    case .noSecurityKey: "Take the line of libpam-u2f away."
    }
  }
}

/// The profile `iampass-key`, which this command writes, because it names the services. pam-auth-update has no such
/// choice.
enum SecurityKeyParts {
  static let name = "iampass-key"
  private static let path = SecurityKeyProfile.path
  private static let update = "/usr/sbin/pam-auth-update"
  private static let module = "pam_u2f.so"

  /// The profile before the change, to be restored.
  struct Before {
    let text: [UInt8]?

    init() { text = SecurityKeyProfile.writtenBytes }
  }

  /// Throws if a part is missing, before a change is made.
  static func requireParts() throws(CommandProblem) {
    guard ModuleFile.find(module) != nil else { throw .keyModuleMissing }
  }

  /// The written profile; nil if there is none.
  static var profile: SecurityKeyProfile? { SecurityKeyProfile.written }

  /// The key's place in the profile; nil if there is no profile.
  static var place: SecurityKeyProfile.Place? { profile?.place }

  /// Whether PAM also asks this user for a key. If the list cannot be read, this is true for all users.
  static func isRequired(of user: UnixUsername, folder: String) -> Bool {
    guard place == .second else { return false }
    guard let counts = try? SecurityKeyFiles(folder: folder).counts() else { return true }
    return counts.contains { UnixUsername(validating: $0.user) == user }
  }

  /// The lines that a choice adds; nil if the key already has its place. A change of services does not change jumps.
  static func planned(_ choice: SecurityKeyChoice?, folder: String) -> SecurityKeyProfile? {
    guard place == nil, choice == .securityKey || choice == .securityKeySecond else { return nil }
    let files = SecurityKeyFiles(folder: folder)
    return SecurityKeyProfile(
      choice == .securityKey ? .instead : .second, services: [], mapping: files.mapping,
      uids: (try? files.holders())?.uids ?? [])
  }

  /// - Parameter choice: nil keeps the key's place, and writes the services again.
  static func settle(_ choice: SecurityKeyChoice?, services: [String], folder: String) throws(CommandProblem) {
    let place: SecurityKeyProfile.Place
    switch choice {
    case .noSecurityKey: return try switchOff()
    case .securityKey: place = .instead
    case .securityKeySecond: place = .second
    case nil:
      guard let now = Self.place else { return }
      place = now
    }
    let files = SecurityKeyFiles(folder: folder)
    guard folder.utf8.allSatisfy(Trial.isPlain) else { throw .file(FileError(.system(EINVAL), path: folder)) }
    do { try files.make() } catch { throw .file(error) }
    let profile = SecurityKeyProfile(place, services: services, mapping: files.mapping)
    try write(profile.requiring(try holders(files, place)))
    if choice != nil { say(profile, files) }
  }

  /// Makes PAM ask the users in the files for a key, if it is the second factor.
  ///
  /// - Parameter user: a user who no longer needs a key.
  static func renew(_ files: SecurityKeyFiles, without user: UnixUsername? = nil) throws(CommandProblem) {
    guard let profile, profile.place == .second, profile.mapping == files.mapping else { return }
    try write(profile.requiring(try holders(files, .second, without: user)))
  }

  private static func holders(
    _ files: SecurityKeyFiles, _ place: SecurityKeyProfile.Place, without user: UnixUsername? = nil
  ) throws(CommandProblem) -> [UInt32] {
    guard place == .second else { return [] }
    let holders: SecurityKeyFiles.Holders
    do { holders = try files.holders(without: user) } catch { throw .file(error) }
    guard let unknown = holders.unknown.first else { return holders.uids }
    throw .keyOfUnknownUser(unknown)
  }

  private static func write(_ profile: SecurityKeyProfile) throws(CommandProblem) {
    do { try AtomicFile.write(Array(profile.text.utf8), to: path, mode: 0o644) } catch { throw .file(error) }
    try run("--enable")
    guard isInStack(profile) else {
      let place =
        profile.place == .instead
        ? "above those of the phone and the password" : "below all others, in place of older ones for the same keys"
      Terminal.complain(
        "\(PAMProfiles.folder)/common-auth needs these lines \(place), which pam-auth-update did not write:")
      for line in profile.text.split(separator: "\n") where line.hasPrefix("\t") {
        // pam-auth-update replaces "end" by a number. libpam does not know the word.
        Terminal.complain("  auth \(line.dropFirst().replacing("success=end", with: "success=done"))")
      }
      throw .profilesNotOn
    }
  }

  /// Switches the profile off. Keys stay registered.
  static func switchOff() throws(CommandProblem) {
    guard Before().text != nil || isInStack else { return }
    try run("--disable")
    guard !isInStack else { throw .profilesNotOff }
    guard unlink(path) == 0 || errno == ENOENT else { throw .file(FileError(.system(errno), path: path)) }
  }

  static func putBack(_ before: Before) {
    do throws(CommandProblem) {
      guard let text = before.text else { return try switchOff() }
      do { try AtomicFile.write(text, to: path, mode: 0o644) } catch { throw .file(error) }
      try run("--enable")
    } catch { Terminal.complain("warning: \(error.message)") }
  }

  private static func run(_ option: String) throws(CommandProblem) {
    let answer = Program.run([update, "--package", option, name], seconds: 60)
    guard let answer, answer.status == 0 else { throw .programFailed(update, answer?.output ?? "") }
  }

  private static var stack: [PAMLine] {
    let stack = try? PAMReader(folder: PAMProfiles.folder).stack("auth", of: "common-auth")
    return (stack ?? []).flatMap(\.lines)
  }

  private static var isInStack: Bool {
    stack.contains { $0.moduleName == "pam_u2f" && $0.arguments.contains("origin=\(SecurityKeyFiles.origin)") }
  }

  /// Whether the profile's lines are in the stack: pam-auth-update silently skips an edited file.
  private static func isInStack(_ profile: SecurityKeyProfile) -> Bool {
    isInStack && (profile.place == .instead || StackJudgement.uidsOnLists(stack) == Set(profile.uids))
  }

  private static func say(_ profile: SecurityKeyProfile, _ files: SecurityKeyFiles) {
    let services = profile.services.joined(separator: ", ")
    switch profile.place {
    case .instead: Terminal.say("a security key signs in, too: \(services)")
    case .second: Terminal.say("users who have a security key need it besides: \(services)")
    }
    Terminal.say("not in sshd: a key would be one that is plugged in here")
    if (try? files.counts())?.isEmpty == true { Terminal.say("hint: iampassctl enroll --security-key USER") }
  }
}
