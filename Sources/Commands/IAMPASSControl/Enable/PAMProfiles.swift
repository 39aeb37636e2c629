import CommandSupport
import Glibc
import HostDoctor
import HostState
import HostSystem
import PAMStacks

/// The profiles `iampass` and `iampass-session` of pam-auth-update, switched and read back.
enum PAMProfiles {
  struct Profile {
    let name: String
    /// The file in ``folder`` that gets the profile's line.
    let file: String
    let kind: String
  }

  static let folder = "/etc/pam.d"
  private static let command = "/usr/sbin/pam-auth-update"
  private static let module = "pam_iampass.so"
  private static let profiles = [
    Profile(name: "iampass", file: "common-auth", kind: "auth"),
    Profile(name: "iampass-session", file: "common-session", kind: "session"),
  ]
  private static let sources = "/usr/share/pam-configs"
  /// The longest time of pam-auth-update in seconds. It reads templates and runs debconf.
  private static let patience: Int64 = 60

  /// Throws if a part is missing without which the phone would not be asked.
  static func requireParts() throws(CommandProblem) {
    guard ModuleFile.find(module) != nil else { throw .moduleMissing }
    let files = [command] + profiles.map { "\(sources)/\($0.name)" }
    for file in files where access(file, R_OK) != 0 { throw .file(FileError(.missing, path: file)) }
  }

  /// The profiles whose line is not in its file.
  static func off() throws(CommandProblem) -> [Profile] {
    var off: [Profile] = []
    for profile in profiles where try !hasModule(profile) { off.append(profile) }
    return off
  }

  static func areOff() throws(CommandProblem) -> Bool { try off().count == profiles.count }

  static func switchOn() throws(CommandProblem) {
    try update("--enable", profiles)
    // It exits with 0 even if an administrator's edits keep it from changing the files.
    let stillOff = try off()
    guard stillOff.isEmpty else {
      try sayLinesToAdd(stillOff)
      throw .profilesNotOn
    }
  }

  /// Undoes ``switchOn()`` for the profiles that were off before.
  static func takeBack(_ profiles: [Profile]) {
    guard !profiles.isEmpty else { return }
    do { try update("--disable", profiles) } catch { Terminal.complain("warning: \(error.message)") }
  }

  /// Switches both off. Names all lines that are left, in any file and of any author.
  static func switchOff() throws(CommandProblem) {
    var failure: CommandProblem?
    do { try update("--disable", profiles) } catch { failure = error }
    let left = PAMFiles.moduleLines()
    for line in left { Terminal.complain("still there: \(line.place): \(line.text.onOneLine)") }
    if let failure { throw failure }
    guard left.isEmpty else { throw .profilesNotOff }
  }

  private static func update(_ option: String, _ profiles: [Profile]) throws(CommandProblem) {
    guard Program.exists(command) else { throw .file(FileError(.missing, path: command)) }
    let answer = Program.run([command, "--package", option] + profiles.map(\.name), seconds: patience)
    guard let answer, answer.status == 0 else { throw .programFailed(command, answer?.output ?? "") }
  }

  private static func hasModule(_ profile: Profile) throws(CommandProblem) -> Bool {
    try stack(profile.kind, of: profile.file).flatMap(\.lines).contains {
      $0.moduleName == "pam_iampass" && !$0.servesKeyring
    }
  }

  private static func stack(_ kind: String, of file: String) throws(CommandProblem) -> [PAMEntry] {
    do { return try PAMReader(folder: folder).stack(kind, of: file) } catch { throw .pamFile(error) }
  }

  private static func sayLinesToAdd(_ off: [Profile]) throws(CommandProblem) {
    for profile in off {
      let path = "\(folder)/\(profile.file)"
      if profile.kind == "auth" {
        let lines = ProfileLines(auth: try stack("auth", of: profile.file))
        Terminal.complain("add to \(path), above \(lines.above ?? "all others"):\n  \(lines.auth)")
      } else {
        Terminal.complain("add to \(path), below pam_systemd:\n  \(ProfileLines.session)")
      }
    }
  }
}
