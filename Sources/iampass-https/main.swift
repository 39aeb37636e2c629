// The network worker: frames in on descriptor 3, HTTPS, frames out. It has no privileges, no environment and no
// secrets; it never executes another program, because after that any process of its user could write its memory.
import CHost
import IAMPASSClient

// Nobody reads what a worker prints. How it failed is its exit status, for `strace` and the packager's tests.
do throws(Confinement.Failure) {
  try Confinement.enter(user: CommandLine.arguments.count == 2 ? CommandLine.arguments[1] : "")
} catch {
  _exit(error.rawValue)
}
let connection = ParentConnection(descriptor: Confinement.parentSocket)
guard let service = Service(parent: connection) else { _exit(Confinement.Failure.noNetworkLibrary.rawValue) }
service.run()
// Without destructors: a thread that still waits for a name server must not hold the exit.
_exit(0)
