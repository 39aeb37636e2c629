// The network worker: frames in from its socket, HTTPS, frames out. It has no privileges, no environment and no
// secrets; it never executes another program, because after that any process of its user could write its memory.
//
//   iampass-https USER            one worker, for whoever made the pair of sockets of which descriptor 3 is an end
//   iampass-https USER standby    descriptor 3 listens: a worker, forked with everything loaded, for each login
import CHost
import IAMPASSClient

// Nobody reads what a worker prints. How it failed is its exit status, for `strace` and the packager's tests.
let arguments = CommandLine.arguments
// It was started by a descriptor, whose number would be the name.
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
// Without destructors: a thread that still waits for a name server must not hold the exit.
_exit(0)
