import CHost
import Glibc
import HostSystem
import Synchronization

/// What glibc's setuid(2) leaves out: a thread that has called pthread_exit(3). Dispatch's first thread has, once a program
/// waits (dispatch_main(3)). It lives on to run signals' handlers, and would stay root's.
enum EveryThread {
  /// The longest wait for the threads, in milliseconds. It takes one as a rule.
  private static let patience = 5_000

  /// Makes the threads that are left this user's, after setuid(2) has changed all others.
  ///
  /// - Returns: false, with `errno`, unless each thread of this process is this user's alone.
  static func become(_ user: uid_t, _ group: gid_t) -> Bool {
    wanted.store(UInt64(user) << 32 | UInt64(group), ordering: .sequentiallyConsistent)
    let before = signal(SIGUSR2, changeThread)
    defer {
      // A signal that is still on its way would end the process. Ignoring it takes it back (sigaction(2)).
      signal(SIGUSR2, SIG_IGN)
      signal(SIGUSR2, before)
    }
    for _ in 0..<patience {
      guard let others = others(than: user, group) else { return false }
      if others.isEmpty { return true }
      for thread in others { _ = iampass_signal_thread(thread, SIGUSR2) }
      usleep(1_000)
    }
    errno = EPERM
    return false
  }

  /// The threads that are not known to be this user's and this group's; nil if they cannot be listed.
  private static func others(than user: uid_t, _ group: gid_t) -> [pid_t]? {
    guard let names = try? FolderListing.names(in: "/proc/self/task") else { return nil }
    var found: [pid_t] = []
    for name in names {
      guard let thread = pid_t(name) else { continue }
      guard let bytes = ProcessFile.read("/proc/self/task/\(thread)/status", limit: 16_384) else {
        // One that has ended has no folder any more.
        if access("/proc/self/task/\(thread)", F_OK) == 0 || errno != ENOENT { found.append(thread) }
        continue
      }
      let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { $0.split(separator: "\t") }
      let isTheirs = ["Uid:": user, "Gid:": group].allSatisfy { key, id in
        lines.contains { $0.first == Substring(key) && $0.dropFirst().allSatisfy { $0 == "\(id)" } && $0.count == 5 }
      }
      if !isTheirs { found.append(thread) }
    }
    return found
  }
}

/// The user and the group. A handler must not be the first to use it: ``EveryThread/become(_:_:)`` is.
private let wanted = Atomic<UInt64>(0)

private let changeThread: @convention(c) (Int32) -> Void = { _ in
  let kept = errno
  let both = wanted.load(ordering: .sequentiallyConsistent)
  _ = iampass_thread_become(uid_t(both >> 32), gid_t(truncatingIfNeeded: both))
  errno = kept
}
