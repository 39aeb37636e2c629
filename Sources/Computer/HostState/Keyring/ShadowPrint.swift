import CHost
import Glibc
import HostSystem
import IAMPASSProtocol

/// A digest of the user's entry in shadow(5). It changes with each change of the password.
public enum ShadowPrint {
  /// Characters of the digest.
  public static let length = 64
  private static let greatestField = 1_024

  /// Users whom no shadow file lists, such as those of a directory, all get the same text. A change of their password
  /// is noticed when they next sign in with it.
  public static func of(_ user: UnixUsername) -> String {
    var field = [CChar](repeating: 0, count: greatestField)
    // SAFETY: the shim writes at most this many bytes, the last of which is zero.
    let count = iampass_shadow_field(user.text, &field, field.count)
    let bytes = field.prefix(max(0, Int(count))).map { UInt8(bitPattern: $0) }
    return Digest.hexadecimal(Digest.sha256(bytes))
  }
}
