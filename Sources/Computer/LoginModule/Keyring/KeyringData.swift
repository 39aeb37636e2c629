import CPAM
import HostSystem
import IAMPASSProtocol

/// The user whom a phone has approved in this pass through the stack, for a later line of the same pass.
final class KeptApproval {
  static let name = "iampass_approval"

  /// PAM_USER, byte by byte; nil once another pass has begun.
  private(set) var user: [UInt8]?

  init(user: [UInt8]) { self.user = user }

  /// Begins a pass without an approval.
  static func reset(_ host: PAMHost) { host.kept(name, as: KeptApproval.self)?.user = nil }

  /// If it cannot be kept, the keyring stays locked.
  static func keep(_ user: [UInt8], with host: PAMHost) {
    _ = host.keep(KeptApproval(user: user), as: name) { _, data, _ in
      // SAFETY: `keep` retained this object once; libpam calls the clean-up once for it.
      if let data { Unmanaged<KeptApproval>.fromOpaque(data).release() }
    }
  }
}

/// A verified password, kept until the session is open. It is wiped with the handle at the latest.
final class KeptPassword {
  static let name = "iampass_password"

  let user: UnixUsername
  /// PAM_USER when the password was taken, byte by byte: a directory may spell the user's name in another way.
  let given: [UInt8]
  /// The user's `ShadowPrint` when the password was taken.
  let print: String
  private var password: Secret?

  init(user: UnixUsername, given: [UInt8], password: Secret, print: String) {
    self.user = user
    self.given = given
    self.password = password
    self.print = print
  }

  /// Returns the password, once.
  func take() -> Secret? {
    defer { password = nil }
    return password
  }

  static func keep(_ password: KeptPassword, with host: PAMHost) -> Bool {
    host.keep(password, as: name) { _, data, _ in
      // SAFETY: `keep` retained this object once; libpam calls the clean-up once for it.
      if let data { Unmanaged<KeptPassword>.fromOpaque(data).release() }
    }
  }
}
