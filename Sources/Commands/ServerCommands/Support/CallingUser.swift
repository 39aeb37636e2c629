import Glibc
import HostSystem
import IAMPASSServer

/// The user for whom a command works, for the audit.
enum CallingUser {
  /// The real user id, and the id that signed in to the computer, which sudo does not change. Call it before the
  /// command becomes another user.
  static func actor() -> AuditActor {
    let text = String(decoding: ProcessFile.read("/proc/self/loginuid", limit: 32) ?? [], as: UTF8.self)
    return .command(user: getuid(), login: loginUser(in: text))
  }

  /// Nil outside of a sign-in, as for a timer: the kernel then gives the greatest number.
  static func loginUser(in text: String) -> UInt32? {
    text.split(separator: "\n").first.flatMap { UInt32($0) }.flatMap { $0 == .max ? nil : $0 }
  }
}
