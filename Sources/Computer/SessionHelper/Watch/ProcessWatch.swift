import CHost
import Glibc
import HostState
import HostSystem

/// Tells when processes end, by one descriptor for each (pidfd_open(2)). A later process with the same number is not
/// mistaken for it.
final class ProcessWatch {
  /// Readable when a process has ended; -1 if the system does not give a descriptor.
  let descriptor: Int32
  private var processes: [Int32: ProcessIdentity] = [:]
  private var descriptors: [ProcessIdentity: Int32] = [:]
  private var gone: Set<ProcessIdentity> = []

  init() { descriptor = epoll_create1(Int32(O_CLOEXEC)) }

  /// Watches these processes and no others. The end of a process that cannot be watched (too many open files) is found
  /// by the next look at all records.
  ///
  /// - Returns: the processes that have already ended, each once.
  func watch(_ wanted: Set<ProcessIdentity>) -> [ProcessIdentity] {
    for (process, held) in descriptors where !wanted.contains(process) { forget(process, held) }
    gone.formIntersection(wanted)
    var news: [ProcessIdentity] = []
    for process in wanted where descriptors[process] == nil && !gone.contains(process) && !add(process) {
      guard process.presence == .gone else { continue }
      gone.insert(process)
      news.append(process)
    }
    return news
  }

  /// The processes that have ended since the last call.
  func ended() -> [ProcessIdentity] {
    var ended: [ProcessIdentity] = []
    while case let held = iampass_epoll_next(descriptor), held >= 0, let process = processes[held] {
      ended.append(process)
      gone.insert(process)
      forget(process, held)
    }
    return ended
  }

  private func add(_ process: ProcessIdentity) -> Bool {
    let held = iampass_pidfd_open(process.pid)
    guard held >= 0 else { return false }
    // The number may have been reused since the process's start was read.
    guard process.isAlive, iampass_epoll_add(descriptor, held) == 0 else {
      close(held)
      return false
    }
    processes[held] = process
    descriptors[process] = held
    return true
  }

  private func forget(_ process: ProcessIdentity, _ held: Int32) {
    processes[held] = nil
    descriptors[process] = nil
    close(held)
  }
}
