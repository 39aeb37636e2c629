import Glibc

/// The process's own limits.
enum ProcessLimits {
  /// Allows as many descriptors as the system does: each held request over HTTP/1.1 is a connection.
  static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Forbids core dumps, which would have secrets of all users. It sets the limit: a process that is not dumpable
  /// cannot read its own /proc, which the metrics need. The limit is one byte: Linux obeys 0 only for dumps to files,
  /// and 1 also for dumps to a program (core(5)).
  ///
  /// - Returns: whether that worked. It does not if the service was given a limit of 0, which it may not raise.
  static func forbidDumps() -> Bool {
    var least = rlimit(rlim_cur: 1, rlim_max: 1)
    return setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &least) == 0
  }
}
