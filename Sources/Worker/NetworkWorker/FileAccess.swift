import CConfinement
import CHost
import Glibc

/// The files that a worker may open: certificates, and the files that name lookups read and load. It may not write any
/// file (landlock(7)).
///
/// The rules name folders, since files such as resolv.conf are replaced while the helper's worker lives.
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
    // resolvconf, NetworkManager, systemd-resolved and others write below this folder. Their own folders may be made
    // later, and a rule needs an existing folder.
    "/run",
    // The caches of nscd and sssd.
    "/var/cache/nscd", "/var/lib/sss",
    // The list of loaded files, of this process only. A worker that the waiting process forks has the waiting process's
    // folder here, and not its own: it neither needs its own, nor can it open another process's memory.
    "/proc/self",
  ]
  /// Files that may lie in other places. A link counts as the file that it leads to.
  private static let links = [
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/host.conf", "/etc/ssl/certs",
  ]

  /// Applies to this process and all its descendants, for good.
  ///
  /// - Returns: 0, or ENOSYS, EOPNOTSUPP or EPERM if the kernel refuses landlock to this process.
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

  /// All rights that this version knows. The kernel allows every right that a rule set does not handle.
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
    // A missing file, or one closed to this user, needs no rule.
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { throw .notConfined }
    // The kernel refuses a folder's rights for a file.
    let possible = found.st_mode & S_IFMT == S_IFDIR ? access : access & (readFile | writeFile | execute)
    guard iampass_landlock_allow(rules, descriptor, possible) == 0 else { throw .notConfined }
  }

  private static func missing(_ code: Int32) throws(Confinement.Failure) -> Int32 {
    guard [ENOSYS, EOPNOTSUPP, EPERM].contains(code) else { throw .notConfined }
    return code
  }
}
