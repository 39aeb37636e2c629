import Glibc
import HostState

/// What `iampassctl disable`, or `enable --no-security-key`, has left if it was killed half way. Both change PAM's files
/// first, and then remove what belongs to them.
public struct HalfSwitchedOff: Sendable {
  /// The key's place in the profile that is written; nil if there is no profile.
  let profile: SecurityKeyProfile.Place?
  /// Whether PAM's files have the profile's lines.
  let asksForKey: Bool
  /// Whether any PAM file names the module.
  let asksPhone: Bool
  /// Whether there is the file by which `enable` lets sshd ask PAM.
  let hasSSHDFile: Bool
  /// Whether PAM takes passwords in sshd although PasswordAuthentication is off.
  let opensPasswords: Bool

  public init(
    profile: SecurityKeyProfile.Place?, asksForKey: Bool, asksPhone: Bool, hasSSHDFile: Bool, opensPasswords: Bool
  ) {
    self.profile = profile
    self.asksForKey = asksForKey
    self.asksPhone = asksPhone
    self.hasSSHDFile = hasSSHDFile
    self.opensPasswords = opensPasswords
  }

  public var findings: [Finding] { [keyFinding, sshdFinding].compactMap(\.self) }

  private var keyFinding: Finding? {
    guard let profile, !asksForKey else { return nil }
    let option = profile == .second ? "--security-key-second" : "--security-key"
    return Finding(
      profile == .second ? .problem : .warning, .pam,
      "\(SecurityKeyProfile.path) is there, but PAM does not have its lines: nobody is asked for a security key",
      hint: asksPhone ? "iampassctl enable \(option), or iampassctl enable --no-security-key" : "iampassctl disable")
  }

  private var sshdFinding: Finding? {
    guard hasSSHDFile, !asksPhone else { return nil }
    let passwords = opensPasswords ? ": it takes passwords, although PasswordAuthentication is off" : ""
    return Finding(
      opensPasswords ? .problem : .warning, .sshd,
      "\(SSHDaemon.dropInPath) has sshd ask PAM, which does not ask the phone\(passwords)", hint: "iampassctl disable")
  }

  /// The findings about this computer; none while a command that changes the setup is at work.
  static func findings(of place: SetupPlace, pamFolder: String) -> [Finding] {
    let lock = place.administratorLock
    guard !UnfinishedChange.isAtWork(lock) else { return [] }
    let found = look(pamFolder: pamFolder).findings
    return UnfinishedChange.isAtWork(lock) ? [] : found
  }

  private static func look(pamFolder: String) -> HalfSwitchedOff {
    let lines = PAMFiles.moduleLines(in: [pamFolder] + PAMFiles.places).map(\.text)
    let asksPhone = lines.contains { $0.contains(StackJudgement.module) }
    let hasSSHDFile = access(SSHDaemon.dropInPath, F_OK) == 0
    var opensPasswords = false
    if hasSSHDFile, !asksPhone, case .settings(let settings) = SSHDaemon.settings() {
      opensPasswords = settings.letsPAMTakePasswords
    }
    return HalfSwitchedOff(
      profile: SecurityKeyProfile.written?.place, asksForKey: lines.contains { $0.contains(SecurityKeyFiles.origin) },
      asksPhone: asksPhone, hasSSHDFile: hasSSHDFile, opensPasswords: opensPasswords)
  }
}
