import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// A digest of what the system keeps of a user's password (shadow(5)): another one after each change of the password.
public enum ShadowPrint {
  /// Characters.
  public static let length = 64
  private static let greatestField = 1_024

  /// The same text for every user whom no shadow file lists, such as those of a directory: a change of their password
  /// is noticed when they next sign in by it.
  public static func of(_ user: UnixUsername) -> String {
    var field = [CChar](repeating: 0, count: greatestField)
    // SAFETY: the shim writes at most this many bytes, the last of which is zero.
    let count = iampass_shadow_field(user.text, &field, field.count)
    let bytes = field.prefix(max(0, Int(count))).map { UInt8(bitPattern: $0) }
    return Digest.hexadecimal(Digest.sha256(bytes))
  }
}
