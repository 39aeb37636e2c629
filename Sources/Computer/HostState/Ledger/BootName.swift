import HostSystem
import IAMPASSProtocol

/// The name of the time from one start of this computer to the next, for the service.
public enum BootName {
  private static let file = "/proc/sys/kernel/random/boot_id"
  /// Half of SHA-256, in hexadecimal digits.
  private static let length = 32

  /// The same name until the computer restarts; nil if the kernel does not give a boot id.
  ///
  /// It is a hash, because boot_id is also in the journal and identifies this computer to other programs
  /// (sd_id128_get_boot_app_specific(3)).
  public static func current() -> String? {
    ProcessFile.read(file, limit: 64).flatMap(name(of:))
  }

  /// - Parameter bootID: the kernel's text, with its end of line.
  static func name(of bootID: [UInt8]) -> String? {
    let text = bootID.filter { $0 > 0x20 }
    guard text.count == 36 else { return nil }
    let digest = Digest.sha256(Array("iampass boot ".utf8) + text)
    return String(Digest.hexadecimal(digest).prefix(length))
  }
}
