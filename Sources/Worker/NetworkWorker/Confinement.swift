import CConfinement
import CHost
import Glibc

/// Drops everything that the worker does not need, before the worker reads a byte from anyone.
enum Confinement {
  /// Why no worker runs. The raw values are exit statuses.
  enum Failure: Int32, Error {
    case badArguments = 64
    case unknownUser, stillPrivileged, notConfined, parentGone, noNetworkLibrary, workerCrashed
    case startedInTheOpen
  }

  /// The parent's descriptor for the socket. systemd also passes its first socket here (sd_listen_fds(3)).
  static let givenSocket: Int32 = 3
  /// The parent's descriptor for the program, which the parent started by it.
  private static let givenProgram: Int32 = 4

  /// In bytes. Enough for the libraries and a thread of the resolver, too little to exhaust the machine.
  private static let memory: UInt = 512 * 1024 * 1024
  private static let openFiles: UInt = 256

  /// Whether this process's starter had lower limits than this process sets itself. It may then lack memory or
  /// descriptors at any time.
  static var hasLowLimits: Bool {
    let own: [(resource: Int32, value: UInt)] = [
      (Int32(RLIMIT_AS.rawValue), memory), (Int32(RLIMIT_DATA.rawValue), memory),
      (Int32(RLIMIT_NOFILE.rawValue), openFiles),
    ]
    return own.contains { iampass_limit_reaches($0.resource, $0.value) == 0 }
  }

  /// The user of a worker for one login. The parent writes "-" if it is not root, and otherwise a user's name.
  static func enter(user: String) throws(Failure) {
    let parent = iampass_peer(givenSocket).pid
    guard parent > 0 else { throw .badArguments }
    // The program's own file, from which it was started.
    close(givenProgram)
    let lacks = try giveUp(becoming: user)
    // The change of user clears this setting, so that it comes afterwards. The parent may have ended before it.
    guard iampass_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)) == 0 else { throw .notConfined }
    guard getppid() == parent else { throw .parentGone }
    try closeIn(.speaking, lacks)
  }

  /// Confines the waiting process and the workers that it forks. These end with their socket.
  ///
  /// - Returns: a closure that confines each forked worker further.
  static func enterStandby(user: String) throws(Failure) -> SystemCallFilter {
    // With several sockets, all but the first would be ignored.
    let passed = getenv("LISTEN_FDS").map { String(cString: $0) }
    guard iampass_is_listening(givenSocket) == 1, passed == nil || passed == "1" else { throw .badArguments }
    let speaking = try SystemCallFilter(.speaking)
    let lacks = try giveUp(becoming: user) { () throws(Failure) in
      // If its own user started it from a file that this user can read, it was open up to this line. Another process of
      // that user could then have changed the memory of all later workers.
      guard iampass_prctl(PR_GET_DUMPABLE, 0) != 1 else { throw .startedInTheOpen }
    }
    try closeIn(.waiting, lacks)
    return speaking
  }

  /// What the kernel refuses to this process, as in some containers: the call and its error.
  private typealias Lacks = [(call: String, code: Int32)]

  /// First the files that it may open, then the system calls.
  private static func closeIn(_ role: SystemCallFilter.Role, _ lacks: Lacks) throws(Failure) {
    var lacks = lacks
    // This comes before the files close, since libseccomp writes its program through a pipe.
    let calls = try SystemCallFilter(role)
    let landlock = try FileAccess.limit()
    if landlock != 0 { lacks.append((call: "landlock", code: landlock)) }
    for lack in lacks { note(lack.call, lack.code) }
    try calls.enter()
  }

  /// Writes one line to the log: facility authpriv, level notice (syslog(3)).
  private static func note(_ call: String, _ code: Int32) {
    let line = "<85>iampass-https[\(getpid())]: confined without \(call): \(String(cString: strerror(code)))"
    iampass_note(line, line.utf8.count)
  }

  /// - Parameter checkingStart: checks how the process was started, after the change of user.
  /// - Returns: what could not be dropped.
  private static func giveUp(
    becoming user: String, checkingStart: () throws(Failure) -> Void = {}
  ) throws(Failure) -> Lacks {
    guard !user.isEmpty else { throw .badArguments }
    var lacks: Lacks = []
    // This comes first: the caller's keyring may hold Kerberos tickets.
    if iampass_leave_keyring() != 0 { try lacks.append((call: "a keyring of its own", code: bearable(errno))) }
    clearenv()
    // The Swift runtime may have set handlers that start a debugger after a crash.
    for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(crash, SIG_DFL) }
    // libcurl with CURLOPT_NOSIGNAL leaves this to the program.
    signal(SIGPIPE, SIG_IGN)
    // However the process was started, signals must be able to end it.
    var none = sigset_t()
    sigemptyset(&none)
    guard sigprocmask(SIG_SETMASK, &none, nil) == 0 else { throw .notConfined }
    for usual in [SIGTERM, SIGCHLD] { signal(usual, SIG_DFL) }
    // Needs CAP_SETPCAP. Without it nothing is lost, since the worker never executes a program.
    if geteuid() == 0, iampass_drop_bounding_set() != 0 {
      try lacks.append((call: "an empty bounding set", code: bearable(errno)))
    }
    if user != "-" { try become(user) }
    try refusePrivilege()
    try checkingStart()
    guard iampass_prctl(PR_SET_DUMPABLE, 0) == 0, iampass_prctl(PR_SET_NO_NEW_PRIVS, 1) == 0,
      iampass_limit(Int32(RLIMIT_CORE.rawValue), 0) == 0, iampass_limit(Int32(RLIMIT_FSIZE.rawValue), 0) == 0,
      iampass_limit(Int32(RLIMIT_AS.rawValue), memory) == 0,
      // The starter's soft limit would count: it may be lower than the hard one.
      iampass_limit(Int32(RLIMIT_DATA.rawValue), memory) == 0,
      iampass_limit(Int32(RLIMIT_NOFILE.rawValue), openFiles) == 0
    else { throw .notConfined }
    return lacks
  }

  /// A container may refuse these calls, and old kernels do not have them.
  private static func bearable(_ code: Int32) throws(Failure) -> Int32 {
    guard code == EPERM || code == ENOSYS else { throw .notConfined }
    return code
  }

  private static func become(_ name: String) throws(Failure) {
    guard let (user, group) = identity(of: name) else { throw .unknownUser }
    if getuid() == user, getgid() == group { return }
    guard setgroups(0, nil) == 0, setresgid(group, group, group) == 0, setresuid(user, user, user) == 0
    else { throw .stillPrivileged }
  }

  private static func refusePrivilege() throws(Failure) {
    var users: (uid_t, uid_t, uid_t) = (0, 0, 0)
    var groups: (gid_t, gid_t, gid_t) = (0, 0, 0)
    guard getresuid(&users.0, &users.1, &users.2) == 0, getresgid(&groups.0, &groups.1, &groups.2) == 0,
      users.0 != 0, users.0 == users.1, users.1 == users.2, groups.0 == groups.1, groups.1 == groups.2
    else { throw .stillPrivileged }
    // Other things that a caller may pass on, besides its user.
    guard iampass_has_no_capabilities() == 1 || iampass_drop_capabilities() == 0 && iampass_has_no_capabilities() == 1
    else { throw .stillPrivileged }
  }

  /// Reads /etc/passwd if the name is there. Other sources can load code into a process that is still root, and can
  /// wait for a directory service that is down.
  private static func identity(of name: String) -> (uid_t, gid_t)? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      if let file = fopen("/etc/passwd", "re") {
        defer { fclose(file) }
        while fgetpwent_r(file, &entry, buffer.baseAddress!, buffer.count, &found) == 0 {
          // SAFETY: on success the name points into `buffer` and ends with a zero.
          if strcmp(entry.pw_name, name) == 0 { return (entry.pw_uid, entry.pw_gid) }
        }
      }
      guard getpwnam_r(name, &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else { return nil }
      return (entry.pw_uid, entry.pw_gid)
    }
  }
}
