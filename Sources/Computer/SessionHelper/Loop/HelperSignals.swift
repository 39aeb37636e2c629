import CHost
import Glibc

/// The signals that the helper handles, as a descriptor (signalfd(2)).
struct HelperSignals {
  enum Order: Sendable, Equatable {
    /// SIGHUP: read the configuration and all records again.
    case reload
    /// SIGTERM, SIGINT.
    case stop
  }

  let descriptor: Int32

  /// Blocks the signals for this process, so that only the descriptor delivers them.
  init() throws(HelperError) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
    guard sigprocmask(SIG_BLOCK, &set, nil) == 0 else { throw .system(errno) }
    descriptor = signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
    guard descriptor >= 0 else { throw .system(errno) }
  }

  func close() { _ = Glibc.close(descriptor) }

  /// The signals since the last call, in order.
  func orders() -> [Order] {
    var orders: [Order] = []
    var info = signalfd_siginfo()
    while read(descriptor, &info, MemoryLayout<signalfd_siginfo>.size) == MemoryLayout<signalfd_siginfo>.size {
      orders.append(Int32(info.ssi_signo) == SIGHUP ? .reload : .stop)
    }
    return orders
  }
}
