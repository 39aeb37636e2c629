import CHost
import Glibc
import HostSystem

/// The two ends that a worker can have for the process that uses it.
protocol WorkerEnd: AnyObject {
  /// Non-blocking and closed on exec.
  var socket: Int32 { get }
  /// Whether the worker has left, or belongs to the process this one was forked from.
  var hasLeft: Bool { get }
}

/// What makes a worker that waited as good as one that the login starts itself.
package struct WorkerPlace: Sendable, Equatable {
  /// The program that runs: an update replaces the file, and leaves those that wait what they were.
  package var program: FileIdentity
  /// The number of the network namespace (namespaces(7)): a login in one of its own must not leave by another.
  package var network: UInt64
  /// The name of the user that it was told to be.
  package var user: String

  package init(program: FileIdentity, network: UInt64, user: String) {
    self.program = program
    self.network = network
    self.user = user
  }

  /// Of this process, where it runs the worker's program itself; nil without /proc.
  package static func own(user: String) -> WorkerPlace? {
    guard let program = FileIdentity(following: "/proc/self/exe") else { return nil }
    return WorkerPlace(running: program, user: user)
  }

  /// Of a worker that this thread would start.
  init?(running program: FileIdentity, user: String) {
    guard let network = FileIdentity(following: "/proc/thread-self/ns/net") else { return nil }
    self.init(program: program, network: network.inode, user: user)
  }
}

/// What a worker that waited for a login says first.
package struct WorkerGreeting: Sendable, Equatable {
  package var place: WorkerPlace
  /// When it took the login up. Deadlines are of this clock, which another time namespace has otherwise.
  package var now: MonotonicInstant

  package init(place: WorkerPlace, now: MonotonicInstant) {
    self.place = place
    self.now = now
  }
}

/// A worker that was there before the login, with everything loaded: `iampass-https USER standby` gives each login a
/// process of its own. That one ends when the socket does.
final class StandbyWorker: WorkerEnd {
  let socket: Int32
  private let place: WorkerPlace
  private let began = MonotonicInstant.now()
  private let owner = getpid()

  /// Nil: nobody listens there whom root may trust.
  ///
  /// Whoever connects without waiting has no answer yet: no secret may go out before ``accepts(_:)``.
  init?(path: String, program: String, user: String) {
    guard let listening = try? WorkerFile.open(socket: path), let running = try? WorkerFile.open(program),
      let place = WorkerPlace(running: running.identity, user: user)
    else { return nil }
    // The socket that was looked at, whatever stands at its path now.
    let made = iampass_connect("/proc/self/fd/\(listening.number)")
    guard made >= 0 else { return nil }
    // Hosts run with 0–2 closed and open files by number.
    let lifted = iampass_duplicate_above(made, WorkerProcess.leastDescriptor)
    close(made)
    guard lifted >= 0 else { return nil }
    guard iampass_peer(lifted).uid == 0 else {
      close(lifted)
      return nil
    }
    socket = lifted
    self.place = place
  }

  deinit {
    // Copies of the descriptor, in what the host forked meanwhile, do not keep the worker.
    if owner == getpid() { shutdown(socket, Int32(SHUT_RDWR)) }
    close(socket)
  }

  var hasLeft: Bool {
    guard owner == getpid() else { return true }
    var entry = pollfd(fd: socket, events: 0, revents: 0)
    return poll(&entry, 1, 0) != 0
  }

  func accepts(_ greeting: WorkerGreeting) -> Bool {
    greeting.place == place && began <= greeting.now && greeting.now <= .now()
  }
}
