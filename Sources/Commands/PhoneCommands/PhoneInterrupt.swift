import CommandSupport
import Glibc
import WorkerLink

extension Interrupt: Interruption {
  /// Waits for Ctrl-C and SIGTERM. Otherwise they would end the program in the middle of a request.
  static func ofPhone() -> Interrupt {
    // A reader that closes our output must not leave a request half answered.
    signal(SIGPIPE, SIG_IGN)
    return Interrupt([SIGINT, SIGTERM])
  }
}
