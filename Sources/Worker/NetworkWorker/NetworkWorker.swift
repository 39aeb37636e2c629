import CHost
import HostSystem
import WorkerLink

/// The network worker: it takes frames from its socket, speaks HTTPS, and returns frames. It has no privileges, no
/// environment and no secrets. It never executes another program: afterwards any process of its user could change its
/// memory.
///
///     iampass-https USER            one worker; descriptor 3 is its end of its parent's pair of sockets
///     iampass-https USER standby    descriptor 3 listens: for each login it forks a worker with everything loaded
public enum NetworkWorker {
  /// The whole program. Nobody reads its output; its exit status tells how it failed, for `strace` and the packager's
  /// tests.
  public static func run() -> Never {
    let arguments = CommandLine.arguments
    // It was started by a descriptor, whose number would otherwise be its name.
    _ = iampass_name("iampass-https")
    var parent = Confinement.givenSocket
    var end: MonotonicInstant?
    do throws(Confinement.Failure) {
      switch (arguments.count, arguments.last) {
      case (2, let user?): try Confinement.enter(user: user)
      case (3, "standby"):
        let speaking = try Confinement.enterStandby(user: arguments[1])
        parent = try Standby.awaitLogin(at: parent, as: arguments[1], confining: speaking)
        end = .now().advanced(milliseconds: Int64(WorkerSettings.loginLifetime) * 1000)
      default: throw .badArguments
      }
    } catch {
      _exit(error.rawValue)
    }
    guard let service = Service(parent: ParentConnection(descriptor: parent), end: end) else {
      _exit(Confinement.Failure.noNetworkLibrary.rawValue)
    }
    service.run()
    // Skips destructors: a thread that still waits for a name server must not delay the exit.
    _exit(0)
  }
}
