import CConfinement
import CHost
import Glibc

/// Gives up what the worker does not need, before it reads a byte from anybody.
enum Confinement {
  /// Why there is no worker; raw values are exit statuses.
  enum Failure: Int32, Error {
    case badArguments = 64
    case unknownUser, stillPrivileged, notConfined, parentGone, noNetworkLibrary, workerCrashed
    case startedInTheOpen
  }

  /// Where the parent put the socket; systemd puts the first that it passes there too (sd_listen_fds(3)).
  static let givenSocket: Int32 = 3
  /// Where it put the program, which it started by this descriptor.
  private static let givenProgram: Int32 = 4

  /// Enough for the libraries and a thread of the resolver, too little to take the machine along. Bytes.
  private static let memory: UInt = 512 * 1024 * 1024
  private static let openFiles: UInt = 256

  /// Of a worker whose parent wrote "-" for itself where it is not root, or a user's name.
  static func enter(user: String) throws(Failure) {
    let parent = iampass_peer(givenSocket).pid
    guard parent > 0 else { throw .badArguments }
    // The program itself, by which it was started.
    close(givenProgram)
    let lacks = try giveUp(becoming: user)
    // After the change of user, which clears it; and the parent may have gone before it was set.
    guard iampass_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)) == 0 else { throw .notConfined }
    guard getppid() == parent else { throw .parentGone }
    try closeIn(.speaking, lacks)
  }

  /// Of a process that waits for logins, and of the workers that are forked from it: these end with their socket.
  ///
  /// - Returns: what closes each of those workers in further.
  static func enterStandby(user: String) throws(Failure) -> SystemCallFilter {
    // Of several sockets all but the first would be deaf.
    let passed = getenv("LISTEN_FDS").map { String(cString: $0) }
    guard iampass_is_listening(givenSocket) == 1, passed == nil || passed == "1" else { throw .badArguments }
    let speaking = try SystemCallFilter(.speaking)
    let lacks = try giveUp(becoming: user) { () throws(Failure) in
      // Started by its own user, from a file that this user can read, it was open from the first instruction to this
      // line: another process of that user could have written the memory of all workers to come.
      guard iampass_prctl(PR_GET_DUMPABLE, 0) != 1 else { throw .startedInTheOpen }
    }
    try closeIn(.waiting, lacks)
    return speaking
  }

  /// What the kernel keeps from this process, as in some containers: which call answered, and how.
  private typealias Lacks = [(call: String, code: Int32)]

  /// What it may open, then what it may ask the kernel for.
  private static func closeIn(_ role: SystemCallFilter.Role, _ lacks: Lacks) throws(Failure) {
    var lacks = lacks
    // Before the files close: libseccomp makes its program in memory, by a pipe.
    let calls = try SystemCallFilter(role)
    let landlock = try FileAccess.limit()
    if landlock != 0 { lacks.append((call: "landlock", code: landlock)) }
    for lack in lacks { note(lack.call, lack.code) }
    try calls.enter()
  }

  /// One line in the log: facility authpriv, level notice (syslog(3)).
  private static func note(_ call: String, _ code: Int32) {
    let line = "<85>iampass-https[\(getpid())]: confined without \(call): \(String(cString: strerror(code)))"
    iampass_note(line, line.utf8.count)
  }

  /// - Parameter checkingStart: looks at how the process was started, once its user is the one that stays.
  /// - Returns: what could not be given up.
  private static func giveUp(
    becoming user: String, checkingStart: () throws(Failure) -> Void = {}
  ) throws(Failure) -> Lacks {
    guard !user.isEmpty else { throw .badArguments }
    var lacks: Lacks = []
    // First of all, while nothing else was looked at: the caller's may hold its Kerberos tickets.
    if iampass_leave_keyring() != 0 { try lacks.append((call: "a keyring of its own", code: bearable(errno))) }
    clearenv()
    // The Swift runtime may have set handlers that start a debugger when the worker crashes.
    for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(crash, SIG_DFL) }
    // libcurl with CURLOPT_NOSIGNAL leaves this to the program.
    signal(SIGPIPE, SIG_IGN)
    // Whatever the process was started with: it must be possible to end it.
    var none = sigset_t()
    sigemptyset(&none)
    guard sigprocmask(SIG_SETMASK, &none, nil) == 0 else { throw .notConfined }
    for usual in [SIGTERM, SIGCHLD] { signal(usual, SIG_DFL) }
    // Only with CAP_SETPCAP; without it nothing is lost, since no program is ever executed.
    if geteuid() == 0, iampass_drop_bounding_set() != 0 {
      try lacks.append((call: "an empty bounding set", code: bearable(errno)))
    }
    if user != "-" { try become(user) }
    try refusePrivilege()
    try checkingStart()
    guard iampass_prctl(PR_SET_DUMPABLE, 0) == 0, iampass_prctl(PR_SET_NO_NEW_PRIVS, 1) == 0,
      iampass_limit(Int32(RLIMIT_CORE.rawValue), 0) == 0, iampass_limit(Int32(RLIMIT_FSIZE.rawValue), 0) == 0,
      iampass_limit(Int32(RLIMIT_AS.rawValue), memory) == 0,
      iampass_limit(Int32(RLIMIT_NOFILE.rawValue), openFiles) == 0
    else { throw .notConfined }
    return lacks
  }

  /// A container may keep these calls from its processes, and old kernels have none of them.
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
    // What a caller hands on besides its user.
    guard iampass_has_no_capabilities() == 1 || iampass_drop_capabilities() == 0 && iampass_has_no_capabilities() == 1
    else { throw .stillPrivileged }
  }

  /// From /etc/passwd where the name is there: other sources can load code into a process that is root still, and
  /// wait for a directory that is down.
  private static func identity(of name: String) -> (uid_t, gid_t)? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      if let file = fopen("/etc/passwd", "re") {
        defer { fclose(file) }
        while fgetpwent_r(file, &entry, buffer.baseAddress!, buffer.count, &found) == 0 {
          // SAFETY: on success the name points into `buffer`, and ends with a zero.
          if strcmp(entry.pw_name, name) == 0 { return (entry.pw_uid, entry.pw_gid) }
        }
      }
      guard getpwnam_r(name, &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else { return nil }
      return (entry.pw_uid, entry.pw_gid)
    }
  }
}
