import CHost
import Glibc
import HostSystem

/// The two kinds of connection to a worker, from the side of the process that uses it.
protocol WorkerEnd: AnyObject {
  /// Non-blocking and closed on exec.
  var socket: Int32 { get }
  /// Whether the worker has left, or belongs to the process from which this one was forked.
  var hasLeft: Bool { get }
}

/// The properties that make a waiting worker equal to a worker that the login starts itself.
package struct WorkerPlace: Sendable, Equatable {
  /// The running program. An update replaces the file, and waiting workers still run the old one.
  package var program: FileIdentity
  /// The number of the network namespace (namespaces(7)). A login in its own namespace must not use another one.
  package var network: UInt64
  /// The user to which it was told to change.
  package var user: String

  package init(program: FileIdentity, network: UInt64, user: String) {
    self.program = program
    self.network = network
    self.user = user
  }

  /// The properties of this process, if it runs the worker's program itself; nil without /proc.
  package static func own(user: String) -> WorkerPlace? {
    guard let program = FileIdentity(following: "/proc/self/exe") else { return nil }
    return WorkerPlace(running: program, user: user)
  }

  /// The properties of a worker that this thread would start.
  init?(running program: FileIdentity, user: String) {
    guard let network = FileIdentity(following: "/proc/thread-self/ns/net") else { return nil }
    self.init(program: program, network: network.inode, user: user)
  }
}

/// The first message of a waiting worker.
package struct WorkerGreeting: Sendable, Equatable {
  package var place: WorkerPlace
  /// When the worker accepted the login. Deadlines use this clock, which differs in another time namespace.
  package var now: MonotonicInstant

  package init(place: WorkerPlace, now: MonotonicInstant) {
    self.place = place
    self.now = now
  }
}

/// A worker that existed before the login, with everything loaded. `iampass-https USER standby` gives each login its
/// own process, which ends with the socket.
final class StandbyWorker: WorkerEnd {
  let socket: Int32
  private let place: WorkerPlace
  private let began = MonotonicInstant.now()
  private let owner = getpid()

  /// Nil if nobody whom root may trust listens there.
  ///
  /// The connection does not wait for the greeting: no secret may go out before ``accepts(_:)``.
  init?(path: String, program: String, user: String) {
    guard let listening = try? WorkerFile.open(socket: path), let running = try? WorkerFile.open(program),
      let place = WorkerPlace(running: running.identity, user: user)
    else { return nil }
    // The socket that was checked, whatever is at its path now.
    let made = iampass_connect("/proc/self/fd/\(listening.number)")
    guard made >= 0 else { return nil }
    // Hosts run with 0–2 closed, and open files by number.
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
    // Copies of the descriptor, in children that the host forked in the meantime, do not keep the worker alive.
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
