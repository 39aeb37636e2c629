import Glibc
import HostSystem
import IAMPASSServer

/// On whose behalf a command works, for the audit.
enum CallingUser {
  /// The real user id, and the one that signed in to the machine, which sudo does not change. To be asked before the
  /// command becomes another user.
  static func actor() -> AuditActor {
    let text = String(decoding: ProcessFile.read("/proc/self/loginuid", limit: 32) ?? [], as: UTF8.self)
    return .command(user: getuid(), login: loginUser(in: text))
  }

  /// Nil if nobody signed in, as for a timer: the kernel says the greatest number then.
  static func loginUser(in text: String) -> UInt32? {
    text.split(separator: "\n").first.flatMap { UInt32($0) }.flatMap { $0 == .max ? nil : $0 }
  }
}
