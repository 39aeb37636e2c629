import CConfinement
import CHost
import Glibc

/// What a worker may open: certificates, what name lookups read and load, and nothing for writing (landlock(7)).
///
/// Folders and not files, since files such as resolv.conf are replaced while the helper's worker lives.
enum FileAccess {
  private static let execute: UInt64 = 1 << 0
  private static let writeFile: UInt64 = 1 << 1
  private static let readFile: UInt64 = 1 << 2
  private static let readFolder: UInt64 = 1 << 3
  private static let listenTCP: UInt64 = 1 << 0
  private static let abstractSockets: UInt64 = 1 << 0
  private static let signals: UInt64 = 1 << 1

  private static let folders = [
    "/etc", "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib",
    "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
    // What resolvconf, NetworkManager, systemd-resolved and others write: their folders may come after this worker began,
    // and a rule is for a folder that is there.
    "/run",
    // The caches of nscd and sssd.
    "/var/cache/nscd", "/var/lib/sss",
    // Which files are loaded; of this process alone.
    "/proc/self",
  ]
  /// What may stand elsewhere: the file that a link leads to counts.
  private static let links = [
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/host.conf", "/etc/ssl/certs",
  ]

  /// For this process and all that come from it, for good.
  ///
  /// - Returns: 0, or why the kernel has no landlock for this process: ENOSYS, EOPNOTSUPP or EPERM.
  static func limit() throws(Confinement.Failure) -> Int32 {
    let version = iampass_landlock_version()
    guard version > 0 else { return try missing(errno) }
    let rules = iampass_landlock_rules(
      handled(by: version), version >= 4 ? listenTCP : 0, version >= 6 ? abstractSockets | signals : 0)
    guard rules >= 0 else { return try missing(errno) }
    defer { close(rules) }
    for path in folders { try allow(path, readFile | readFolder, rules) }
    for path in links { try allow(path, readFile | readFolder, rules) }
    try allow("/dev/null", readFile | writeFile, rules)
    for path in ["/dev/urandom", "/dev/random"] { try allow(path, readFile, rules) }
    guard iampass_landlock_enter(rules) == 0 else { return try missing(errno) }
    return 0
  }

  /// All that the version knows: what is not handled is not forbidden.
  private static func handled(by version: Int32) -> UInt64 {
    switch version {
    case 1: (1 << 13) - 1
    case 2: (1 << 14) - 1
    case 3, 4: (1 << 15) - 1
    default: (1 << 16) - 1
    }
  }

  private static func allow(_ path: String, _ access: UInt64, _ rules: Int32) throws(Confinement.Failure) {
    let descriptor = iampass_open(path, O_PATH | O_CLOEXEC, 0)
    // What is not there, or is closed to this user, needs no rule.
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw .notConfined }
    // The kernel refuses rights of folders for a file.
    let possible = found.st_mode & S_IFMT == S_IFDIR ? access : access & (readFile | writeFile | execute)
    guard iampass_landlock_allow(rules, descriptor, possible) == 0 else { throw .notConfined }
  }

  private static func missing(_ code: Int32) throws(Confinement.Failure) -> Int32 {
    guard [ENOSYS, EOPNOTSUPP, EPERM].contains(code) else { throw .notConfined }
    return code
  }
}
