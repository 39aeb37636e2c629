import CConfinement
import Glibc

/// The system calls that a worker needs. The kernel answers all others as unknown (seccomp(2)).
///
/// ENOSYS, not EPERM: a C library newer than this list then falls back to an older call.
struct SystemCallFilter {
  /// What is confined. The waiting process forks; the worker, which speaks to the network, does not.
  enum Role { case waiting, speaking }

  /// In the kernel's form.
  private let program: [UInt8]

  /// Compiles the filter, without confining anything yet.
  init(_ role: Role) throws(Confinement.Failure) {
    guard let filter = iampass_filter_begin() else { throw .notConfined }
    defer { seccomp_release(filter) }
    var rules = FilterRules(filter: filter)
    rules.allow(Self.usual)
    rules.allowMemory()
    rules.allowSockets()
    rules.allowOwnLimits()
    switch role {
    case .speaking: rules.allowThreads()
    case .waiting: rules.allowProcesses()
    }
    guard rules.areComplete else { throw .notConfined }
    var count = 0
    program = [UInt8](unsafeUninitializedCapacity: Self.greatestProgram) { buffer, filled in
      // SAFETY: the shim writes at most as much as fits, and returns the length.
      count = iampass_filter_export(filter, buffer.baseAddress, buffer.count)
      filled = max(0, count)
    }
    guard count > 0, count < Self.greatestProgram else { throw .notConfined }
  }

  /// Confines this thread and all its descendants, for good. More filters can only forbid more.
  func enter() throws(Confinement.Failure) {
    guard program.withUnsafeBytes({ iampass_filter_install($0.baseAddress, $0.count) }) == 0 else {
      throw .notConfined
    }
  }

  /// In bytes: the kernel accepts 4096 instructions of 8 bytes.
  private static let greatestProgram = 32 * 1024

  /// The calls of libcurl, OpenSSL, and the C library's name lookups with their modules and daemons, in Debian 12 and
  /// 13. Names that the architecture does not have are left out.
  private static let usual = [
    // Memory.
    "brk", "munmap", "mremap", "madvise", "membarrier",
    // Descriptors and files.
    "read", "readv", "pread64", "write", "writev", "pwrite64", "lseek", "_llseek", "close", "close_range", "dup",
    "dup2", "dup3", "fcntl", "fcntl64", "open", "openat", "openat2", "stat", "stat64", "lstat", "lstat64", "fstat",
    "fstat64", "newfstatat", "fstatat64", "statx", "fstatfs", "fstatfs64", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getcwd", "getdents", "getdents64", "pipe", "pipe2", "eventfd2",
    // Sockets, except making them.
    "connect", "getsockname", "getpeername", "getsockopt", "setsockopt", "send", "sendto", "sendmsg", "sendmmsg",
    "recv", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "shutdown",
    // Waiting.
    "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "restart_syscall",
    // Time.
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "clock_nanosleep",
    "clock_nanosleep_time64", "nanosleep", "gettimeofday", "time",
    // Its own threads and signals.
    "futex", "futex_time64", "futex_waitv", "set_robust_list", "get_robust_list", "rseq", "gettid", "sched_yield",
    "sched_getaffinity", "getcpu", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "sigaltstack", "exit",
    "exit_group",
    // Identity and system.
    "getpid", "getppid", "getuid", "getuid32", "geteuid", "geteuid32", "getgid", "getgid32", "getegid", "getegid32",
    "getresuid", "getresuid32", "getresgid", "getresgid32", "getgroups", "getgroups32", "uname", "sysinfo", "getrandom",
    "getrusage", "getrlimit", "ugetrlimit",
  ]
}

/// Adds rules to a filter of libseccomp.
private struct FilterRules {
  let filter: scmp_filter_ctx
  /// False after libseccomp refused a rule.
  private(set) var areComplete = true

  init(filter: scmp_filter_ctx) { self.filter = filter }

  mutating func allow(_ names: [String]) { for name in names { add(name) } }

  /// Refuses pages that are both writable and executable, so that received data cannot become code. Modules of the name
  /// lookup are mapped from files, readable and executable.
  mutating func allowMemory() {
    let both = UInt64(PROT_WRITE | PROT_EXEC)
    for name in ["mmap", "mmap2"] {
      for one in [0, UInt64(PROT_WRITE), UInt64(PROT_EXEC)] { add(name, when: [(2, both, one)]) }
    }
    add("mprotect", when: [(2, UInt64(PROT_EXEC), 0)])
  }

  /// Allows the families of the service's addresses, name servers and the daemons of the name lookup.
  mutating func allowSockets() {
    let known = [AF_INET, AF_INET6, AF_UNIX].map(UInt64.init)
    for family in known { add("socket", when: [(0, Self.all, family)]) }
    // libseccomp has one default answer for calls without a rule. This call needs a different answer.
    for family in 0..<Self.lastFamily where !known.contains(family) {
      add("socket", when: [(0, Self.all, family)], error: EAFNOSUPPORT)
    }
    addSocketsAbove(Self.lastFamily)
    add("socketpair", when: [(0, Self.all, UInt64(AF_UNIX))])
  }

  /// Allows numbers and texts of a descriptor or interface, names of threads, and its own limits.
  mutating func allowOwnLimits() {
    for request in [Self.bytesToRead, Self.nonBlocking, Self.interfaceIndex, Self.interfaceName] {
      add("ioctl", when: [(1, Self.all, request)])
    }
    add("prctl", when: [(0, Self.all, UInt64(PR_SET_NAME))])
    add("prlimit64", when: [(0, Self.all, 0)])
    add("setrlimit")
  }

  /// Allows threads and forbids processes. clone3(2) takes its flags in memory, which a filter cannot read.
  mutating func allowThreads() {
    let thread = UInt64(iampass_clone_thread)
    let mask = thread | UInt64(iampass_clone_namespaces)
    add("clone", when: [(Self.cloneFlags, mask, thread)])
  }

  /// More calls of the waiting process: it accepts logins, and forks, confines and waits for workers.
  mutating func allowProcesses() {
    add("clone", when: [(Self.cloneFlags, UInt64(iampass_clone_namespaces), 0)])
    allow(["accept", "accept4", "fork", "vfork", "wait4", "waitid", "waitpid", "signalfd", "signalfd4", "kill"])
    add("seccomp", when: [(0, Self.all, UInt64(SECCOMP_SET_MODE_FILTER))])
  }

  private mutating func add(_ name: String, when conditions: [(UInt32, UInt64, UInt64)] = [], error: Int32 = 0) {
    let call = seccomp_syscall_resolve_name(name)
    // Unknown to this architecture or to this libseccomp. A negative number stands for a call inside another one, such
    // as i386's socket calls.
    guard call != __NR_SCMP_ERROR else { return }
    let compared = conditions.map { iampass_condition(argument: $0.0, mask: $0.1, value: $0.2) }
    let code = iampass_filter_rule(filter, call, error, compared, UInt32(compared.count))
    // EDOM: the architecture does not have this call in any form.
    if code != 0, code != -EDOM { areComplete = false }
  }

  private mutating func addSocketsAbove(_ family: UInt64) {
    let call = seccomp_syscall_resolve_name("socket")
    if iampass_filter_above(filter, call, EAFNOSUPPORT, 0, family) != 0 { areComplete = false }
  }

  private static let all: UInt64 = 0xFFFF_FFFF
  /// The greatest number among the known calls.
  private static let lastFamily = UInt64(AF_INET6)
  private static let cloneFlags = UInt32(IAMPASS_CLONE_FLAGS)
  /// ioctl(2): FIONREAD, FIONBIO, SIOCGIFINDEX and SIOCGIFNAME, with the numbers of most architectures. On others the
  /// name lookup works without them.
  private static let bytesToRead: UInt64 = 0x541B
  private static let nonBlocking: UInt64 = 0x5421
  private static let interfaceIndex: UInt64 = 0x8933
  private static let interfaceName: UInt64 = 0x8910
}
